# The binary profile: container, tables and the streams of a frame. What the
# streams mean is the transform of docs/format.md, which no description of bytes
# can express; doc texts below say which stream is read when.
#
# Sections with flag zstd, and streams stored in ways 1 and 2, are opaque here: give
# their bytes to zstd or Snappy and parse what comes out with the types below.
meta:
  id: abp
  title: Alleria binary profile
  file-extension: abp
  endian: le
  encoding: UTF-8
doc: |
  A header, then sections up to the end of the file. Behind the last section,
  DIRECTORY, stand 24 bytes (type trailer) that tell where it is. A file that was
  cut off lacks them, and may end within a section: what precedes is valid.
seq:
  - id: header
    type: header
    size: 1024
  - id: sections
    type: section
    repeat: until
    repeat-until: _.type == section_type::directory or _io.eof
  - id: trailer
    type: trailer
    if: not _io.eof
enums:
  profile_type:
    1: main
    2: sub
    3: interceptors
    4: regions
  section_type:
    1: info
    2: cpuid
    3: profile
    4: blocks
    5: windows
    6: llw
    7: interceptors
    8: types
    9: process_family
    10: image_table
    11: func_table
    12: syscalls
    13: signals
    14: queries
    15: subprofiles
    16: frame_index
    17: end
    18: directory
    19: frame_sums
    20: sampling
  access_kind:
    0: plain
    1: string
    2: masked
    3: packed
    4: gather
    5: sized
    6: bits
  branch_kind:
    0: none
    1: conditional
    2: jump
    3: call
    4: indirect_jump
    5: indirect_call
    6: ret
    7: syscall
types:
  header:
    seq:
      - id: magic
        contents: [0x89, "ABP", 0x0d, 0x0a, 0x1a, 0x0a]
      - id: major
        type: u2
        doc: 1. Other major versions cannot be read by this description.
      - id: minor
        type: u2
      - id: len_header
        type: u4
      - id: crc
        type: u4
        doc: CRC-32C of the header's bytes with this field zero.
      - id: type
        type: u1
        enum: profile_type
      - id: os
        type: u1
      - id: vendor
        type: u1
      - id: arch
        type: u1
      - id: target_arch
        type: u1
      - id: virtual_bits
        type: u1
      - id: physical_bits
        type: u1
      - id: reserved
        type: u1
      - id: page_size
        type: u4
      - id: created
        type: s8
        doc: Unix time in nanoseconds.
      - id: started
        type: s8
      - id: tsc_at_start
        type: u8
      - id: tsc_frequency
        type: u8
      - id: process
        type: u4
      - id: pid
        type: u4
      - id: stream
        type: u4
      - id: flags
        type: u4
      - id: memory
        type: u8
      - id: lowest_address
        type: u8
      - id: highest_address
        type: u8
      - id: reserved_ours
        size: 408
      - id: user
        size: 512
  section:
    seq:
      - id: sync
        contents: "ABPS"
      - id: type
        type: u4
        enum: section_type
      - id: len_payload
        type: u8
      - id: crc
        type: u4
        doc: CRC-32C of the payload as stored.
      - id: flags
        type: u2
        doc: "1: the payload is one zstd frame."
      - id: reserved1
        type: u2
      - id: reserved2
        type: u4
      - id: header_crc
        type: u4
        doc: CRC-32C of the 28 bytes before.
      - id: payload
        size: len_payload
        type:
          switch-on: "flags == 0 ? type : section_type::interceptors"
          cases:
            'section_type::info': rows_info
            'section_type::cpuid': rows_cpuid
            'section_type::profile': frame
            'section_type::blocks': rows_block
            'section_type::windows': rows_window
            'section_type::llw': rows_snapshot
            'section_type::process_family': rows_family
            'section_type::image_table': rows_image
            'section_type::func_table': rows_function
            'section_type::syscalls': rows_syscall
            'section_type::signals': rows_signal
            'section_type::queries': rows_query
            'section_type::subprofiles': rows_subprofile
            'section_type::frame_index': frame_index
            'section_type::end': rows_end
            'section_type::directory': directory
            'section_type::frame_sums': rows_sums
            'section_type::sampling': rows_sampling
            'section_type::types': rows_type
  trailer:
    seq:
      - id: magic
        contents: "ABPDIREC"
      - id: directory
        type: u8
        doc: Offset of the DIRECTORY section's header.
      - id: crc
        type: u4
        doc: CRC-32C of the 16 bytes before.
      - id: reserved
        type: u4
  directory:
    seq:
      - id: entries
        type: directory_entry
        repeat: eos
  directory_entry:
    seq:
      - id: type
        type: u4
        enum: section_type
      - id: flags
        type: u2
      - id: reserved1
        type: u2
      - id: offset
        type: u8
      - id: len_payload
        type: u8
      - id: crc
        type: u4
      - id: reserved2
        type: u4
  str4:
    seq:
      - id: len
        type: u4
      - id: value
        type: str
        size: len
  row_head:
    doc: Fields that this description does not know may follow the known ones.
    seq:
      - id: kind
        type: u2
      - id: reserved
        type: u2
      - id: len_fields
        type: u4
  rows_info:
    seq:
      - id: head
        type: row_head
      - id: fields
        size: head.len_fields
        type: info
  info:
    seq:
      - id: executable
        type: str4
      - id: system_dir
        type: str4
      - id: work_dir
        type: str4
      - id: os_version
        type: str4
      - id: num_args
        type: u4
      - id: args
        type: str4
        repeat: expr
        repeat-expr: num_args
  rows_cpuid:
    seq:
      - id: rows
        type: row_cpuid
        repeat: eos
  row_cpuid:
    seq:
      - id: head
        type: row_head
      - id: fields
        size: head.len_fields
        type: cpuid
  cpuid:
    seq:
      - id: package
        type: u4
      - id: leaf
        type: u4
      - id: subleaf
        type: u4
      - id: eax
        type: u4
      - id: ebx
        type: u4
      - id: ecx
        type: u4
      - id: edx
        type: u4
  rows_block:
    seq:
      - id: rows
        type: row_block
        repeat: eos
  row_block:
    seq:
      - id: head
        type: row_head
      - id: fields
        size: head.len_fields
        type:
          switch-on: head.kind
          cases:
            1: block
            2: packed_blocks
  packed_blocks:
    seq:
      - id: blocks
        size-eos: true
        doc: |
          Blocks one behind the other, packed (since 1.18): what a field is depends on the instruction and the operand before,
          which docs/format.md describes, with an example.
  block:
    seq:
      - id: number
        type: u4
      - id: image
        type: u4
      - id: address
        type: u8
      - id: target
        type: u8
      - id: num_words
        type: u2
      - id: time_word
        type: s2
      - id: branch_word
        type: s2
      - id: branch
        type: u1
        enum: branch_kind
      - id: reserved
        type: u1
      - id: len_code
        type: u4
      - id: code
        size: len_code
      - id: num_instructions
        type: u4
      - id: num_accesses
        type: u4
      - id: instructions
        type: instruction
        repeat: expr
        repeat-expr: num_instructions
      - id: accesses
        type: access
        repeat: expr
        repeat-expr: num_accesses
        doc: Of all instructions, one after the other.
      - id: sample_rates
        type: u4
        repeat: expr
        repeat-expr: num_instructions
        if: not _io.eof
        doc: |
          Of each instruction: one execution in so many was kept, at random; 0 and 1 all. Only
          where something was sampled or one of the following is there (since 1.2).
      - id: num_registers
        type: u4
        if: not _io.eof
        doc: Since 1.3; absent where no registers are recorded and no pieces follow.
      - id: registers
        type: register_word
        repeat: expr
        repeat-expr: num_registers
        if: not _io.eof
      - id: num_pieces
        type: u4
        if: not _io.eof
        doc: Since 1.6; absent where all instructions lie one behind the other.
      - id: pieces
        type: block_piece
        repeat: expr
        repeat-expr: num_pieces
        if: not _io.eof
  block_piece:
    seq:
      - id: instruction
        type: u2
        doc: Number within the block of the first that the piece has.
      - id: distance
        type: s4
        doc: Of its address and those behind it to the block's address plus the offset.
  register_word:
    seq:
      - id: instruction
        type: u2
        doc: Number within the block.
      - id: number
        type: u1
      - id: register_class
        type: u1
        doc: 0 to 3 general registers of 8, 4, 2 and 1 bytes, 4 ah to bh, 5 xmm, 6 ymm, 7 zmm, 8 k, 9 mm, 10 st, 11 rip rflags mxcsr fs_base gs_base.
      - id: word
        type: s2
        doc: The first word; -1 where the value follows from something else (rip, bases).
  instruction:
    seq:
      - id: offset
        type: u2
      - id: length
        type: u1
      - id: num_accesses
        type: u1
      - id: flags
        type: u2
        doc: 1 recorded, 2 accesses, 4 values, 8 time, 16 function, 32 branch, 64 touches memory, 128 a part of it, 256 registers (since 1.1).
      - id: function
        type: u4
  access:
    seq:
      - id: kind
        type: u1
        enum: access_kind
      - id: flags
        type: u1
        doc: Bit 0 store; the others the segment, 0 none, 1 fs, 2 gs.
      - id: lanes
        type: u1
      - id: scale
        type: u1
      - id: index_size
        type: u1
      - id: address_bits
        type: u1
      - id: reserved
        type: u2
      - id: len
        type: u4
      - id: word
        type: s2
      - id: aux_word
        type: s2
      - id: index_word
        type: s2
      - id: value_word
        type: s2
      - id: offset
        type: s8
  rows_window:
    seq:
      - id: rows
        type: row_window
        repeat: eos
  row_window:
    seq:
      - id: head
        type: row_head
      - id: fields
        size: head.len_fields
        type:
          switch-on: head.kind
          cases:
            1: window_def
            2: window_event
  window_def:
    seq:
      - id: index
        type: u4
      - id: name
        type: str4
      - id: description
        type: str4
  window_event:
    seq:
      - id: window
        type: u4
      - id: opened
        type: u1
      - id: reason
        type: str4
      - id: tsc
        type: u8
      - id: thread
        type: u4
      - id: address
        type: u8
      - id: instructions
        type: u8
      - id: loads
        type: u8
      - id: stores
        type: u8
      - id: overshoot
        type: u8
      - id: caller
        type: u8
        if: not _io.eof
        doc: Where the function returns to whose call it was; 0 where it was no call. Since 1.12.
  rows_snapshot:
    seq:
      - id: rows
        type: row_snapshot
        repeat: eos
  row_snapshot:
    doc: Kind 1 is all of the address space, 2 (since 1.14) what is different since the row before.
    seq:
      - id: head
        type: row_head
      - id: fields
        size: head.len_fields
        type: snapshot
  snapshot:
    seq:
      - id: tsc
        type: u8
      - id: reason
        type: str4
      - id: num_regions
        type: u4
      - id: regions
        type: region
        repeat: expr
        repeat-expr: num_regions
      - id: mapped
        type: mapped
        repeat: expr
        repeat-expr: num_regions
        if: not _io.eof
        doc: What each of the regions maps. Since 1.14.
      - id: asked_by
        type: u8
        repeat: expr
        repeat-expr: num_regions
        if: not _io.eof
        doc: Where what has asked for private memory without a name returns to, 0 where that is not known. Since 1.16.
  mapped:
    seq:
      - id: device
        type: u8
        doc: Major number in the upper half, minor in the lower one, as /proc/PID/maps has them.
      - id: inode
        type: u8
        doc: 0 for private memory. Anonymous shared memory has one as well.
  region:
    seq:
      - id: start
        type: u8
      - id: end
        type: u8
      - id: protection
        type: u4
      - id: shared
        type: u1
      - id: kind
        type: u1
      - id: offset
        type: u8
      - id: label
        type: str4
      - id: resident
        type: u8
  rows_family:
    seq:
      - id: rows
        type: row_family
        repeat: eos
  row_family:
    seq:
      - id: head
        type: row_head
      - id: fields
        size: head.len_fields
        type: family
  family:
    seq:
      - id: number
        type: u4
      - id: pid
        type: u4
      - id: parent
        type: u4
      - id: followed
        type: u1
      - id: started
        type: s8
      - id: ended
        type: s8
      - id: exited
        type: u1
      - id: exit_status
        type: s4
      - id: num_args
        type: u4
      - id: command
        type: str4
        repeat: expr
        repeat-expr: num_args
  rows_image:
    seq:
      - id: rows
        type: row_image
        repeat: eos
  row_image:
    seq:
      - id: head
        type: row_head
      - id: fields
        size: head.len_fields
        type: image
  image:
    seq:
      - id: number
        type: u4
      - id: main
        type: u1
      - id: path
        type: str4
      - id: len_build_id
        type: u4
      - id: build_id
        size: len_build_id
      - id: base
        type: u8
      - id: loaded
        type: u8
      - id: unloaded
        type: u8
      - id: num_segments
        type: u4
      - id: segments
        type: segment
        repeat: expr
        repeat-expr: num_segments
  segment:
    seq:
      - id: start
        type: u8
      - id: end
        type: u8
      - id: offset
        type: u8
      - id: protection
        type: u4
  rows_function:
    seq:
      - id: rows
        type: row_function
        repeat: eos
  row_function:
    seq:
      - id: head
        type: row_head
      - id: fields
        size: head.len_fields
        type: function
  function:
    seq:
      - id: number
        type: u4
      - id: image
        type: u4
      - id: name
        type: str4
      - id: demangled
        type: str4
      - id: address
        type: u8
      - id: len
        type: u8
      - id: file
        type: str4
      - id: line
        type: u4
  rows_syscall:
    seq:
      - id: rows
        type: row_syscall
        repeat: eos
  row_syscall:
    seq:
      - id: head
        type: row_head
      - id: fields
        size: head.len_fields
        type: system_call
  system_call:
    seq:
      - id: thread
        type: u4
      - id: number
        type: u4
      - id: ordinal
        type: u8
      - id: tsc
        type: u8
      - id: end_tsc
        type: u8
      - id: args
        type: u8
        repeat: expr
        repeat-expr: 6
      - id: result
        type: s8
      - id: errno
        type: s4
      - id: place
        type: u4
        if: not _io.eof
        doc: |
          What has the ordinal: 1 the call's own instruction; 2 the next one that is recorded, as
          the call's own is not. Since 1.8.
  rows_sampling:
    seq:
      - id: rows
        type: row_sampling
        repeat: eos
  row_sampling:
    seq:
      - id: head
        type: row_head
      - id: fields
        size: head.len_fields
        type: sampling
  sampling:
    doc: |
      Since 1.8. Of a thread's frames from a chunk on, up to its next row's: how much of what was executed while windows
      were open they are about. Of rows of one thread and chunk the last one counts.
    seq:
      - id: thread
        type: u4
      - id: chunk
        type: u8
      - id: recorded
        type: u8
        doc: Instructions within bursts.
      - id: passed
        type: u8
        doc: Instructions between them.
      - id: bursts
        type: u8
      - id: lost
        type: u8
        doc: How often the thread overwrote its latest records.
      - id: lost_words
        type: u8
      - id: by_time
        type: u8
        if: not _io.eof
        doc: How many of the instructions between bursts are nanoseconds of processor time, each taken for an instruction. Since 1.10.
  rows_signal:
    seq:
      - id: rows
        type: row_signal
        repeat: eos
  row_signal:
    seq:
      - id: head
        type: row_head
      - id: fields
        size: head.len_fields
        type: signal
  signal:
    seq:
      - id: thread
        type: u4
      - id: number
        type: u4
      - id: ordinal
        type: u8
      - id: tsc
        type: u8
      - id: code
        type: s4
      - id: sender
        type: u4
      - id: address
        type: u8
      - id: ip
        type: u8
  rows_query:
    seq:
      - id: rows
        type: row_query
        repeat: eos
  row_query:
    seq:
      - id: head
        type: row_head
      - id: fields
        size: head.len_fields
        type: query
  query:
    seq:
      - id: query
        type: str4
      - id: text
        type: str4
      - id: value
        type: s8
      - id: tsc
        type: u8
      - id: thread
        type: u4
  rows_type:
    seq:
      - id: rows
        type: row_type
        repeat: eos
  row_type:
    seq:
      - id: head
        type: row_head
      - id: fields
        size: head.len_fields
        type:
          switch-on: head.kind
          cases:
            1: value_type
            2: signature
  value_type:
    seq:
      - id: number
        type: u4
      - id: kind
        type: u1
      - id: extent
        type: u1
      - id: downwards
        type: u1
      - id: name
        type: str4
      - id: size
        type: u4
      - id: align
        type: u4
      - id: element
        type: u4
      - id: count
        type: u8
      - id: variable
        type: str4
      - id: sentinel
        type: u8
      - id: num_fields
        type: u4
      - id: fields
        type: value_field
        repeat: expr
        repeat-expr: num_fields
      - id: num_names
        type: u4
      - id: names
        type: value_name
        repeat: expr
        repeat-expr: num_names
  value_field:
    seq:
      - id: name
        type: str4
      - id: type
        type: u4
      - id: offset
        type: u4
      - id: bit
        type: u1
      - id: bits
        type: u1
  value_name:
    seq:
      - id: name
        type: str4
      - id: value
        type: s8
  signature:
    seq:
      - id: number
        type: u4
      - id: name
        type: str4
      - id: linked
        type: str4
      - id: image
        type: str4
      - id: address
        type: u8
      - id: size
        type: u8
      - id: num_threads
        type: u4
      - id: threads
        type: u4
        repeat: expr
        repeat-expr: num_threads
      - id: num_params
        type: u4
      - id: params
        type: parameter
        repeat: expr
        repeat-expr: num_params
      - id: result
        type: parameter
      - id: num_entry
        type: u4
      - id: entry
        type: slot
        repeat: expr
        repeat-expr: num_entry
      - id: num_exit
        type: u4
      - id: exit
        type: slot
        repeat: expr
        repeat-expr: num_exit
      - id: returns
        type: u1
      - id: variadic
        type: u1
      - id: code
        type: str4
      - id: except
        type: u1
      - id: goroutine
        type: u1
        if: not _io.eof
  parameter:
    seq:
      - id: name
        type: str4
      - id: index
        type: u4
      - id: type
        type: u4
  slot:
    seq:
      - id: param
        type: s4
      - id: type
        type: u4
      - id: hidden
        type: u1
      - id: num_pieces
        type: u4
      - id: pieces
        type: piece
        repeat: expr
        repeat-expr: num_pieces
  piece:
    seq:
      - id: offset
        type: u4
      - id: bytes
        type: u4
  call_block:
    doc: What an INTERCEPTORS section begins with; the records follow, see docs/format.md.
    seq:
      - id: thread
        type: u4
      - id: osid
        type: u4
      - id: chunk
        type: u8
      - id: word
        type: u8
      - id: first
        type: u8
      - id: last
        type: u8
      - id: num_records
        type: u4
      - id: zstd
        type: u1
      - id: encoding
        type: u1
        doc: How records are packed, 0, 1 (since 1.11) or 2 (since 1.13). Before 1.11, 0.
      - id: reserved1
        size: 2
      - id: len_raw
        type: u4
      - id: reserved2
        size: 12
  rows_subprofile:
    seq:
      - id: rows
        type: row_subprofile
        repeat: eos
  row_subprofile:
    seq:
      - id: head
        type: row_head
      - id: fields
        size: head.len_fields
        type: subprofile
  subprofile:
    seq:
      - id: number
        type: u4
      - id: path
        type: str4
  rows_end:
    seq:
      - id: head
        type: row_head
      - id: fields
        size: head.len_fields
        type: end_info
  end_info:
    seq:
      - id: ended
        type: s8
      - id: end_tsc
        type: u8
      - id: counts
        type: counts
      - id: lowest_address
        type: u8
      - id: highest_address
        type: u8
      - id: reason
        type: str4
  counts:
    seq:
      - id: instructions
        type: u8
      - id: memory_instructions
        type: u8
      - id: loads
        type: u8
      - id: stores
        type: u8
      - id: bytes_read
        type: u8
      - id: bytes_written
        type: u8
  frame_index:
    seq:
      - id: headers
        type: frame_header
        repeat: eos
  rows_sums:
    doc: |
      Of the frame in the section in front: what of its counts does not follow
      from how often it executes each block.
    seq:
      - id: rows
        type: row_sums
        repeat: eos
  row_sums:
    seq:
      - id: head
        type: row_head
      - id: fields
        size: head.len_fields
        type:
          switch-on: head.kind
          cases:
            1: sums_frame
            2: sums_instruction
            3: sums_cut
  sums_frame:
    seq:
      - id: thread
        type: u4
      - id: seq_number
        type: u8
  sums_instruction:
    doc: Accesses whose number or size depends on the words, of cut executions too.
    seq:
      - id: block
        type: u4
      - id: instruction
        type: u2
      - id: loads
        type: u8
      - id: stores
        type: u8
      - id: bytes_read
        type: u8
      - id: bytes_written
        type: u8
  sums_cut:
    doc: Executions of which only the first instructions completed.
    seq:
      - id: block
        type: u4
      - id: completed
        type: u2
      - id: executions
        type: u8
  frame_header:
    seq:
      - id: len_header
        type: u2
      - id: encoding
        type: u2
        doc: 1, 2, 3 or 4. Another number is another transform.
      - id: reserved
        type: u4
      - id: thread
        type: u4
      - id: os_id
        type: u4
      - id: seq_number
        type: u8
      - id: ordinal
        type: u8
      - id: first_chunk
        type: u8
      - id: num_chunks
        type: u4
      - id: max_block
        type: u4
      - id: first_tsc
        type: u8
      - id: last_tsc
        type: u8
      - id: windows
        type: u8
      - id: fs_base
        type: u8
      - id: gs_base
        type: u8
      - id: counts
        type: counts
      - id: num_executions
        type: u8
      - id: num_words
        type: u8
      - id: reserved_end
        size: 16
  frame:
    doc: |
      One stretch of one thread. Decoding starts with an empty model and takes
      num_items items: a predicted block while the run from stream runs lasts,
      then what the next of symbols says. Each block's words follow from the
      words streams; see docs/format.md for what is predicted.
    seq:
      - id: header
        type: frame_header
      - id: num_items
        type: u8
      - id: stored
        type: stored_stream
        repeat: expr
        repeat-expr: 11
      - id: streams
        size: stored[_index].len_stored
        repeat: expr
        repeat-expr: 11
        doc: |
          In this order: runs, symbols, block numbers (LEB128, zigzag), control
          bytes of address words, their payloads, control bytes of value words,
          their payloads, times, branch exceptions (pairs of LEB128), words of
          marks (u8), blocks met (pairs of LEB128). In encodings 3 and 4 all words
          have their control bytes in the fourth and their payloads in the fifth,
          and the four behind them are empty.
  stored_stream:
    seq:
      - id: how
        type: u1
        doc: 0 as it is, 1 zstd, 2 a Snappy block (encodings 2 to 4).
      - id: len
        type: u4
      - id: len_stored
        type: u4

package randprog

// Set is instructions that need a processor feature; "" is none. Those of heavier
// sets are more frequent.
type Set struct {
	needs  string
	weight int
	text   string
}

// Templates are the instructions of random sequences. A line is one or several,
// separated by semicolons; before a colon stand registers that it writes by
// name. Placeholders are those of Generator.placeholder. Every memory operand
// lies in the program's buffer.
func Templates() []Set {
	return []Set{{"", 4, `
mov {w64}, {m64}
mov {w32}, {m32}
mov {w16}, {m16}
mov {w8}, {m8}
mov {m64}, {r64}
mov {m32}, {r32}
mov {m16}, {r16}
mov {m8}, {r8}
mov {m64}, {i32}
mov {m32}, {i32}
mov {m16}, {i16}
mov {m8}, {i8}
movabs {w64}, {i64}
mov {w32}, {i32}
mov {wh}, {l8}
mov {wh}, {near}
mov {near}, {l8}
movzx {w32}, {m8}
movzx {w64}, {m16}
movsx {w32}, {m16}
movsx {w64}, {m8}
movsxd {w64}, {m32}
lea {w64}, {m}
lea {w32}, {m}
lea {w64}, [{r64}+{i32}]
`}, {"", 2, `
add {w64}, {m64}
add {m64}, {r64}
add {m32}, {i32}
add {m8}, {i8}
adc {w64}, {r64}
adc {w32}, {m32}
adc {m64}, {r64}
sbb {w64}, {m64}
sbb {m16}, {r16}
sub {w64}, {i32}
sub {w8}, {m8}
sub {m64}, {i8}
and {w64}, {m64}
and {m32}, {i32}
or {w16}, {m16}
or {m8}, {r8}
xor {w32}, {r32}
xor {m64}, {r64}
cmp {r64}, {m64}
cmp {m8}, {i8}
cmp {m32}, {r32}
test {m64}, {r64}
test {r32}, {i32}
inc {w64}
inc {m32}
dec {w32}
dec {m64}
neg {w64}
neg {m16}
not {w32}
not {m64}
add {w64}, {i32}
add {w64}, {i8}
xor {w32}, {w32}
add {wh}, {l8}
cmp {wh}, {l8}
shl {w64}, {u6}
shr {m32}, {u5}
sar {w32}, 1
rol {w16}, {u5}
ror {m64}, {u6}
rcl {w64}, {u6}
rcr {m8}, 1
rcx: mov ecx, {r32}; shl {m64}, cl
rcx: mov cl, {u6}; sar {w64}, cl
rcx: xor ecx, ecx; shl {w32}, cl
rcx: mov cl, {i8}; rcr {w32}, cl
rcx: mov cl, 32; shr {w32}, cl
shld {w64}, {r64}, {u6}
shrd {m32}, {r32}, {u5}
rcx: mov cl, {u5}; shld {m64}, {r64}, cl
imul {w64}, {m64}
imul {w32}, {m32}, {i32}
imul {w16}, {m16}, {i8}
rax rdx: mul {m64}
rax rdx: imul {m32}
rax: mul {m8}
rax rdx: mov eax, {r32}; xor edx, edx; or dword ptr buf[rip+128], 3; div dword ptr buf[rip+128]
rax rdx: cqo
rax rdx: cdq
rax: cdqe
rax: cbw
rax: lahf
rax: mov ah, {i8}; sahf
clc
stc
cmc
set{cc} {w8}
set{cc} {m8}
set{cc} {wh}
cmov{cc} {w64}, {m64}
cmov{cc} {w32}, {m32}
cmov{cc} {w16}, {r16}
bswap {w64}
bsf {w64}, {m64}
bsr {w32}, {m32}
bt {m64}, {u6}
bts {m32}, {u5}
btr {w64}, {r64}
movsx {w64}, {r8}; bts [{base}], {=}
movsx {w64}, {r8}; btc {m64}, {=}
movsx {w32}, {r8}; btr {m32}, {=}
movsx {w16}, {r8}; bt {m16}, {=}
movsx {w16}, {r8}; lock bts {m16}, {=}
xchg {m64}, {w64}
xchg {w32}, {w32}
xchg {m8}, {w8}
xadd {m64}, {w64}
lock xadd {m32}, {w32}
lock add {m64}, {r64}
lock inc {m32}
lock or {m8}, {i8}
rax: cmpxchg {m64}, {r64}
rax: mov eax, {m32}; lock cmpxchg {m32}, {r32}
rax rdx: cmpxchg8b {m64}
rax rdx: cmpxchg16b xmmword ptr {a16}
push {r64}; pop {w64}
push {m64}; pop {w64}
push {i32}; pop {m64}
push {i8}; pop qword ptr [rsp-128]
pushfq; pop {w64}
pushw {i16}; pop {w16}
push {r64}; pop qword ptr [rsp-200]
push {m64}; add rsp, 8
push rsp; pop {w64}
sub rsp, 24; mov [rsp+8], {r64}; mov {w64}, [rsp+8]; add rsp, 24
push rbp; enter 32, 0; mov [rbp-8], {r64}; leave; pop rbp
push rbp; lea rbp, [rsp]; enter 16, 2; leave; pop rbp
nop word ptr [{r64}+{w64}*1]
prefetcht0 [{r64}]
.byte 0x66, 0x90
lea {w64}, {L}[rip]; jmp {=}; {L}:
lea {w64}, {L}[rip]; push {=}; ret; {L}:
lea {w64}, {L}[rip]; mov cell[rip], {=}; jmp cell[rip]; {L}:
lea {w64}, {L}[rip]; push {=}; mov [rsp-8], {r64}; ret; {L}:
lea {w64}, helper1[rip]; call {=}
lea {w64}, helper3[rip]; mov cell[rip], {=}; call cell[rip]
lea {w64}, helper2[rip]; push {=}; call [rsp]; pop {w64}
call {L}; {L}: pop {w64}
jmp {L}; .byte 0xcc; {L}:
j{cc} {L}; {L}:
j{cc} {L}; xor {w64}, {m64}; {L}:
rcx: mov ecx, 1{u3}; {L}: adc {m32}, ecx; loop {L}
rcx: mov rcx, {u3}; jrcxz {L}; sbb {m64}, rcx; {L}:
rcx: movzx ecx, {r8}; or ecx, 1; loopne {L}; inc {m8}; {L}:
rax rcx r11: mov eax, 39; syscall; mov eax, ecx
rax rcx r11: mov eax, 12; push rdi; xor edi, edi; syscall; mov {w64}, r11; pop rdi; xor eax, eax
rax rbx: lea rbx, vectors[rip]; xlatb
`}, {"", 1, `
rcx rsi rdi: lea rsi, {near}; lea rdi, {near}; mov ecx, {u5}; rep movsb
rcx rsi rdi: lea rsi, {near}; lea rdi, {near}; mov ecx, {u3}; rep movsq
rcx rsi rdi: lea rsi, {near}; lea rdi, {near}; mov ecx, {u5}; std; rep movsb; cld
rcx rsi rdi: lea rsi, {near}; lea rdi, [rsi+1]; mov ecx, {u5}; rep movsb
rcx rdi: lea rdi, {near}; mov ecx, {u5}; rep stosd
rcx rdi: lea rdi, {near}; mov ecx, {u5}; repne scasb
rcx rdi: lea rdi, {near}; mov ecx, {u5}; repe scasw
rcx rsi rdi: lea rsi, {near}; lea rdi, {near}; mov ecx, {u5}; repe cmpsb; j{cc} {L}; lea rsi, [rcx]; {L}:
rcx rsi rdi: lea rsi, {near}; lea rdi, [rsi]; mov ecx, {u5}; repne cmpsd; cmpsb; movsd
rcx rsi rax: lea rsi, {near}; mov ecx, {u3}; rep lodsw
rsi rdi: lea rsi, {near}; lea rdi, {near}; movsb; movsq; cmpsw
rsi rdi rax: lea rsi, {near}; lea rdi, {near}; lodsd; stosw; scasb
rcx rsi rdi: xor ecx, ecx; rep movsb; repe cmpsb
fld qword ptr floats[rip+{u6}]; fadd {m32}; fstp {m64}; fninit
fild {m32}; fimul {m16}; fistp {m64}; fninit
fld tbyte ptr {near}; fstp tbyte ptr {near}; fninit
fnstcw {m16}; fnstsw {m16}
fld1; fldpi; fcomip st, st(1); fstp st
`}, {"sse4_2", 2, `
movaps {x}, {a16}
movups {x}, {m}
movdqu {m}, {x}
movdqa {a16}, {x}
movss {x}, {m32}
movss {m32}, {x}
movsd {x}, {m64}
movsd {m64}, {x}
movq {x}, {m64}
movq {m64}, {x}
movd {x}, {m32}
movd {m32}, {x}
movq {x}, {r64}
movq {w64}, {x}
movd {w32}, {x}
movlps {x}, {m64}
movhpd {m64}, {x}
movhps {x}, {m64}
movlpd {m64}, {x}
movddup {x}, {m64}
movnti {m64}, {r64}
movntdq {a16}, {x}
movaps {x}, {x}
movmskps {w32}, {x}
pmovmskb {w32}, {x}
addps {x}, {a16}
addsd {x}, {m64}
mulss {x}, {m32}
divpd {x}, {a16}
sqrtsd {x}, {m64}
ucomiss {x}, {m32}
comisd {x}, {m64}
cmpps {x}, {a16}, {u3}
cvtsi2sd {x}, {m64}
cvttsd2si {w64}, {m64}
cvtss2sd {x}, {m32}
cvtps2pd {x}, {m64}
cvtdq2ps {x}, {a16}
paddq {x}, {a16}
pxor {x}, {x}
pand {x}, {a16}
pshufd {x}, {a16}, {i8}
pshufb {x}, {a16}
punpckldq {x}, {a16}
pinsrb {x}, {m8}, {u3}
pinsrw {x}, {m16}, {u3}
pinsrd {x}, {m32}, 2
pinsrq {x}, {m64}, 1
pextrb {m8}, {x}, {u3}
pextrw {w32}, {x}, {u3}
pextrd {m32}, {x}, 3
pextrq {m64}, {x}, 1
extractps {m32}, {x}, 1
insertps {x}, {m32}, 0x30
pmovzxbd {x}, {m32}
pmovsxwq {x}, {m32}
pmovzxbw {x}, {m64}
ptest {x}, {a16}
pcmpeqb {x}, {a16}
palignr {x}, {a16}, {u3}
pblendw {x}, {a16}, {i8}
rcx: pcmpistri {x}, {a16}, 0xc
crc32 {w32}, {m8}
crc32 {w64}, {m64}
popcnt {w64}, {m64}
lddqu {x}, {m}
rdi: lea rdi, {near}; maskmovdqu {x}, {x}
stmxcsr {m32}
shufps {x}, {a16}, {i8}
`}, {"bmi2", 1, `
andn {w64}, {r64}, {m64}
bextr {w64}, {m64}, {r64}
blsi {w32}, {m32}
blsr {w64}, {m64}
bzhi {w32}, {m32}, {r32}
pdep {w64}, {r64}, {m64}
pext {w32}, {r32}, {m32}
mulx {w64}, {w64}, {m64}
rorx {w64}, {m64}, {u6}
shlx {w64}, {m64}, {r64}
sarx {w32}, {m32}, {r32}
tzcnt {w64}, {m64}
lzcnt {w32}, {m32}
`}, {"adx", 2, `
adcx {w64}, {m64}
adox {w32}, {m32}
adox {w64}, {r64}
`}, {"movbe", 1, `
movbe {w64}, {m64}
movbe {m32}, {r32}
movbe {m16}, {r16}
`}, {"avx2", 2, `
vmovups {y}, {m}
vmovups {m}, {y}
vmovdqa {y}, {a32}
vmovdqu {m}, {x}
vmovdqu {x}, {m}
vmovss {x}, {m32}
vmovsd {m64}, {x}
vmovq {x}, {m64}
vmovd {m32}, {x}
vaddps {y}, {y}, {m}
vmulsd {x}, {x}, {m64}
vpaddb {y}, {y}, {m}
vpshufb {x}, {x}, {m}
vpermd {y}, {y}, {m}
vpermq {y}, {m}, {i8}
vperm2i128 {y}, {y}, {m}, {i8}
vinserti128 {y}, {y}, {m}, 1
vextracti128 {m}, {y}, 1
vbroadcastss {y}, {m32}
vpbroadcastb {y}, {m8}
vpbroadcastq {x}, {m64}
vpmovzxbw {y}, {m}
vpblendvb {y}, {y}, {m}, {y}
vpextrq {m64}, {x}, 1
vpinsrd {x}, {x}, {m32}, 1
vptest {y}, {m}
vpmaskmovd {y}, {y}, {m}
vpmaskmovd {m}, {y}, {y}
vmaskmovpd {x}, {x}, {m}
vmaskmovpd {m}, {y}, {y}
vpmaskmovq {m}, {x}, {x}
vmaskmovps {y}, {y}, {m}
vmovdqu ymm1, small[rip]; vmovdqu ymm2, {m}; vpgatherdd ymm3, [{base}+ymm1*4], ymm2
vpmovsxdq ymm9, small[rip]; vmovdqu ymm10, {m}; vgatherqpd ymm11, [{base}+ymm9*2], ymm10
vpmovsxdq ymm1, small[rip]; vmovdqu xmm2, {m}; vpgatherqd xmm3, [{base}+ymm1*8], xmm2
vmovdqu xmm1, small[rip]; vmovdqu ymm2, {m}; vgatherdpd ymm3, [{base}+xmm1*8], ymm2
vzeroupper
vfmadd231ps {y}, {y}, {m}
vcvtps2pd {y}, {m}
`}, {"avx512vbmi", 2, `
vmovdqu64 {Z}, {m}
vmovdqu32 {Z}{K}, {m}
vmovdqu8 {Z}{Kz}, {m}
vmovdqu16 {Y}{Kz}, {m}
vmovups {m}{K}, {Z}
vmovdqu8 {m}{K}, {Y}
vmovapd {a64}{K}, {Z}
vmovdqa32 {X}, {a16}
vmovss {X}{K}, {m32}
vmovsd {m64}{K}, {X}
vpaddd {Z}{K}, {Z}, {m}
vpaddd {Z}{Kz}, {Z}, dword ptr {m}{1to16}
vaddpd {Y}, {Y}, qword ptr {m}{1to4}
vpsubw {X}{K}, {X}, {m}
vpternlogq {Z}{K}, {Z}, {m}, {i8}
vpermb {Z}{K}, {Z}, {m}
vpermt2q {Z}{K}, {Z}, {m}
vpshufd {Z}{K}, {m}, {i8}
vpsllq {Z}{K}, {Z}, {m}
vpsllvw {Z}{K}, {Z}, {m}
vpsrad {Y}{K}, {m}, 3
vpbroadcastd {Z}{K}, {m32}
vbroadcasti32x4 {Z}{K}, {m}
vinserti64x4 {Z}{K}, {Z}, {m}, 1
vextracti32x8 {m}{K}, {Z}, 1
vpexpandd {Z}{Kz}, {m}
vpexpandb {Y}{K}, {m}
vpcompressq {m}{K}, {Z}
vpcompressb {m}{K}, {Z}
vcompressps {m}{K}, {X}
vpmovqb {m}{K}, {Z}
vpmovdw {m}{K}, {Y}
vpmovzxwd {Z}{K}, {m}
vcvtps2pd {Z}{K}, {m}
vcvtdq2pd {Y}{K}, {m}
vpcmpud {k}{K}, {Z}, {m}, 1
vptestmb {k}, {Y}, {m}
vblendmps {Z}{K}, {Z}, {m}
vpmullq {X}{K}, {X}, {m}
vfmadd213pd {Z}{K}, {Z}, {m}
vfixupimmps {X}{K}, {X}, {m}, 3
vrndscalesd {X}{K}, {X}, {m64}, 3
vgetmantpd {Z}{K}, {m}, 3
vdbpsadbw {Y}{K}, {Y}, {m}, 3
vpalignr {Z}{K}, {Z}, {m}, 3
vpsrldq {Z}, {m}, 3
vpsadbw {Z}, {Z}, {m}
vpmaddwd {Y}{K}, {Y}, {m}
vpunpckhdq {Z}{K}, {Z}, {m}
vshuff32x4 {Y}{K}, {Y}, {m}, 1
vmovddup {Z}{K}, {m}
vmovshdup {Y}{K}, {m}
vpermilps {Y}{K}, {Y}, {m}
vpmultishiftqb {Z}{K}, {Z}, {m}
vreducepd {Z}{K}, {m}, 3
vrangesd {X}{K}, {X}, {m64}, 3
vpopcntd {Z}{K}, {m}
vplzcntq {Z}{K}, {m}
kmovq {k}, {m64}
kmovw {m16}, {k}
kmovb {m8}, {k}
kmovd {k}, {m32}
kmovq {k}, {r64}
kmovw {w32}, {k}
kortestq {k}, {k}
kandw {k}, {k}, {k}
vmovdqu32 zmm20, small[rip]; vpgatherdd zmm21{K}, [{base}+zmm20*4]
vpmovsxdq zmm20, small[rip]; vgatherqps ymm22{K}, [{base}+zmm20*8]
vmovdqu32 zmm20, small[rip]; vscatterdps [{base}+zmm20*8]{K}, zmm3
vpmovsxdq ymm20, small[rip]; vpscatterqq [{base}+ymm20*2]{K}, ymm23
vmovdqu32 ymm20, small[rip]; vpscatterdq [{base}+ymm20*4]{K}, zmm24
`}}
}

// Faulting is instructions that fault; the handler goes on behind them. The
// flags are set anew there: an instruction that would have overwritten them
// finds any, and one that is skipped leaves those.
func Faulting() Set {
	return Set{weight: 3, text: `
lea {w64}, {L}[rip]; mov resume[rip], {=}; mov {w64}, [0x1000]; {L}: cmp rsp, 8
lea {w64}, {L}[rip]; mov resume[rip], {=}; mov [0x1008], {r32}; {L}: cmp rsp, 8
lea {w64}, {L}[rip]; mov resume[rip], {=}; add dword ptr [0x1008], {r32}; {L}: cmp rsp, 8
lea {w64}, {L}[rip]; mov resume[rip], {=}; mov {w64}, 0; adc {=}, [{=}+0x1000]; {L}: cmp rsp, 8
lea {w64}, {L}[rip]; mov resume[rip], {=}; cmp byte ptr [0x1008], {i8}; {L}: cmp rsp, 8
lea {w64}, {L}[rip]; mov resume[rip], {=}; push qword ptr [0x1010]; {L}: cmp rsp, 8
lea {w64}, {L}[rip]; mov resume[rip], {=}; call [0x1010]; {L}: cmp rsp, 8
lea {w64}, {L}[rip]; mov resume[rip], {=}; jmp [0x1010]; {L}: cmp rsp, 8
lea {w64}, {L}[rip]; mov resume[rip], {=}; movups [0x1010], {x}; {L}: cmp rsp, 8
lea {w64}, {L}[rip]; mov resume[rip], {=}; mov {w64}, 0x2000; jmp {=}; {L}: cmp rsp, 8
lea {w64}, {L}[rip]; mov resume[rip], {=}; hlt; {L}: cmp rsp, 8
lea {w64}, {L}[rip]; mov resume[rip], {=}; lock xadd [0x1000], {w64}; {L}: cmp rsp, 8
lea {w64}, {L}[rip]; mov resume[rip], {=}; cmov{cc} {w64}, [0x1000]; {L}: cmp rsp, 8
`}
}

// Trapping is instructions that the tracer executes: slow ones.
func Trapping() Set {
	return Set{weight: 1, text: `
rax: rdfsbase rax; lea rax, [rax+8]; wrfsbase rax; mov {w64}, fs:[64]; lea rax, buf[rip+1600]; wrfsbase rax
mov {w64}, gs:[{u6}]
mov gs:[{u6}], {r64}
add gs:[{u6}], {r32}
`}
}

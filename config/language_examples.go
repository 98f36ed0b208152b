package config

// formHelp says what a form is where there is room for it; the schema's one line
// has none.
const formHelp = "A form is the class, then each operand by kind and width, as in MOV_GPRv_MEMv. GPRv and MEMv have " +
	"the operand size; GPR8, MEMd, IMMb and so on have a fixed size. XMM, YMM and MASK are registers, without an element type. AL, CL, " +
	"OrAX and ONE are part of the opcode. AGEN is an address that is not accessed. LOCK and REP are part of the form: ADD_LOCK_MEMv_GPRv, " +
	"REP_MOVSB. XED's iforms are spelled alike, but some end in an opcode (ADD_GPRv_GPRv_01), which is left off here."

// exampleOf returns an element as one would write it, for help. Each is whole, so
// that it can be pasted where the element may stand; a test does that with all.
// They are not part of the language table, since the schema has no place for
// them: editors show an annotation in one paragraph.
func exampleOf(name string) string {
	// A slice and not a map: the order is the table's, which a reader follows.
	for _, row := range examples {
		if row.name == name {
			return row.text
		}
	}
	return ""
}

// examples has a row for each element, in the table's order. Names are of
// programs that most systems have, so that trying one out works.
var examples = []struct{ name, text string }{
	{"AlleriaConfig", `<AlleriaConfig version="1.0">
  <Window>
    <Profile>
      <Process>
        <Thread>
          <Image main="true">
            <Function>
              <Instruction cat="anyMem" accessAddressAndSize="true"/>
            </Function>
          </Image>
        </Thread>
      </Process>
    </Profile>
  </Window>
</AlleriaConfig>`},
	{"Window", `<Window name="parsing" reopenable="true">
  <On><Call name="parse"/></On>
  <Till><Return name="parse"/></Till>
  <Profile>
    <Process><Thread><Image main="true"><Function>
      <Instruction cat="any" timeStamp="true"/>
    </Function></Image></Thread></Process>
  </Profile>
</Window>`},
	{"On", `<On><Instructions threshold="1G"/></On>`},
	{"Till", `<Till><Return name="main"/></Till>`},
	{"All", `<All>
  <Load name="libssl.so.3"/>
  <One><Call name="SSL_connect" imageName="libssl.so.3"/><Time threshold="2s"/></One>
</All>`},
	{"One", `<One><Time threshold="500ms"/><Instructions threshold="1G"/></One>`},
	{"Creation", `<Creation process="1" thread="2"/>   <!-- the first thread besides the initial one -->`},
	{"Termination", `<Termination process="2"/>   <!-- any thread of the first child -->`},
	{"Load", `<Load name="libssl.so.3"/>`},
	{"Unload", `<Unload path="/opt/app/plugin.so"/>`},
	{"Call", `<Call name="codec::Encoder::encode" threshold="100"/>
<Call name="malloc" imageName="libc.so.6"/>`},
	{"Return", `<Return name="main"/>`},
	{"Threads", `<Threads largerEqual="8"/>`},
	{"Accesses", `<Accesses writes="1M" since="open"/>`},
	{"Instructions", `<Instructions threshold="2G"/>`},
	{"Time", `<Time threshold="250ms"/>`},
	{"Syscall", `<Syscall name="openat" threshold="3"/>`},
	{"Address", `<Address image="gzip" offset="0x5a30"/>   <!-- as objdump -d shows it -->`},
	{"Signal", `<Signal number="10"/>   <!-- SIGUSR1: open a window by kill -USR1 -->`},
	{"Exec", `<Exec/>`},
	{"Fork", `<Fork number="2"/>`},
	{"Sample", `<Sample period="100M" burst="1M"/>   <!-- one instruction in a hundred, in bursts -->`},
	{"Profile", `<Profile>
  <Process/>   <!-- follow all, record nothing of them -->
  <Process n="2"><Thread><Image main="true"><Function>
    <Instruction cat="any"/>
  </Function></Image></Thread></Process>
</Profile>`},
	{"Process", `<Process/>   <!-- the others: followed, so that all have numbers -->
<Process n="2"><Thread><Image><Function><Instruction cat="any"/></Function></Image></Thread></Process>
<Process name="cc1*" argument="*.c" follow="exec">
  <Thread><Image><Function><Instruction cat="anyMem"/></Function></Image></Thread>
</Process>`},
	{"Thread", `<Thread n="1" syscalls="true"><Image main="true"><Function><Instruction cat="any"/></Function></Image></Thread>`},
	{"Image", `<Image name="libc.so.6"><Function name="mem*"><Instruction cat="anyMem" accessValue="true"/></Function></Image>
<Image path="/opt/app/plugin.so"/>   <!-- excluded -->`},
	{"Function", `<Function name="ns::Class::method"><Instruction cat="anyMem" accessAddressAndSize="true"/></Function>
<Function name="log_*"/>   <!-- excluded -->
<Function type="struct request *"><Intercept auto="true"/></Function>`},
	{"Instruction", `<Instruction cat="anyMem" accessAddressAndSize="true" accessValue="true"/>
<Instruction class="CALL" branch="true" registers="rdi,rsi"/>
<Instruction ext="AVX2" sample="1/100"/>
<Instruction form="MOV_GPRv_MEMv" timeStamp="true"/>`},
	{"Types", `<Types>
  <Pointer name="string" elementType="ascii" direction="inc" sentinel="0"/>
</Types>`},
	{"Type", `<Type name="point"><Field name="x" type="f8"/><Field name="y" type="f8"/></Type>`},
	{"Field", `<Field name="length" type="u4" offset="8"/>`},
	{"Pointer", `<Pointer name="string" elementType="ascii" direction="inc" sentinel="0"/>
<Pointer name="buffer" elementType="u1" direction="inc" countVariable="length"/>
<Pointer name="pointOut" elementType="f8" count="1"/>`},
	{"Intercept", `<Intercept retType="s8">
  <Parameter name="fd" index="0" type="s4" in="true"/>
  <Parameter name="length" index="2" type="u8" in="true"/>
</Intercept>`},
	{"Result", `<Intercept retType="ptr" seed="7"><Result set="NULL" probability="1/100"/></Intercept>`},
	{"Parameter", `<Parameter name="size" index="0" type="u8" in="true"/>`},
}

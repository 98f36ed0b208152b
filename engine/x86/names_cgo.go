package x86

/*
#include <Zydis/Zydis.h>
*/
import "C"

import "strings"

// Classes returns all names that ClassName gives, in upper case: what a class in a configuration can
// be. It is for messages.
func Classes() []string {
	var names []string
	for m := C.ZydisMnemonic(1); m <= C.ZYDIS_MNEMONIC_MAX_VALUE; m++ {
		names = append(names, strings.ToUpper(C.GoString(C.ZydisMnemonicGetString(m))))
	}
	return names
}

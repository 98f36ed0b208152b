package analysis

import "alleria/abp"

// FunctionName is what tables call a function, also where it is nil.
func FunctionName(f *abp.Function) string {
	if f == nil {
		return noFunction
	}
	return f.Display()
}

// AppendValue appends what was loaded or stored: values of up to eight bytes as a number,
// longer ones as bytes in the order of their addresses.
func AppendValue(l, value []byte) []byte { return appendValue(l, value) }

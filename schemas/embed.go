// Package schemas holds the machine-readable descriptions of the formats that
// users write or read: the XML schema of window configurations and the
// description of binary profiles. They are embedded, so that the one program
// can print them wherever it is installed.
//
// Callers are the commands that print a schema and the tests that hold the
// parser and the schema against each other. The package has no logic; nothing
// in the program validates against these files at run time, because the
// parser's messages are better than any schema processor's.
package schemas

import "embed"

// Files is every file of this folder, its Go source included: a pattern for
// each format would leave out a new one silently.
//
//go:embed *
var Files embed.FS

// ConfigName is the schema of window configurations in Files.
const ConfigName = "alleria.xsd"

// Config returns the XML schema of window configurations.
func Config() []byte {
	data, err := Files.ReadFile(ConfigName)
	if err != nil {
		panic("schemas: " + err.Error()) // embedded: it cannot be missing at run time
	}
	return data
}

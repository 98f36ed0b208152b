// Package diskcache is a folder of files that later runs can begin with, and that nobody misses when they are gone.
//
// In a nutshell: an entry has a key, which is text of any length, says in words what it is, and holds bytes. Its file is named by the key's
// hash, has a header with checksums of everything, and is written beside and renamed, so that any number of processes may
// read and write at a time and see whole files only (entry.go). The time of a file is when it was used last; what was not used for longest goes
// when all together would be too large (dir.go).
//
// The folder is the user's alone: it is refused where it belongs to, or can be written by, somebody else, and where the process has other rights than
// the user who started it. For what the bytes are executed by is up to the caller: they are as good as code.
//
// A file that is damaged is removed, and is none. Files are read and not mapped: one that was cut off while it is mapped would end the process by a SIGBUS.
//
// It knows nothing of what is kept. The command's "cache" lists and empties the folder, engine/reuse fills it.
package diskcache

// Package plan says what is recorded of one program image: which of its images and functions there are, and what the
// configuration wants of each instruction.
//
// In a nutshell: Tables knows the images that are loaded and their functions, numbers those that something recorded refers to, and
// enters them into the profile. A Planner holds for one set of open windows and one kind of threads; the engine asks it once for
// each block that is translated to be recorded, and it remembers its answers by image, function and kind of instruction. Sites, if
// somebody asks for them, note which windows select which instruction.
//
// internal/session makes Tables for each program image and Planners for the sets of windows that are open there. All of it
// belongs to the goroutine of session.Record but for Sites, which have a mutex. The package reads a process's maps, executable and
// vdso, and nothing else of it: it knows neither events nor the engine's processes and threads.
package plan

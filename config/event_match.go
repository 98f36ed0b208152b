package config

// MatchesImage tells whether an image is the one that the event names: the
// image loaded or unloaded (Load, Unload), or that holds the function (Call,
// Return), where naming none means the main executable, or the instruction
// (Address). Events about something else match no image.
func (e *Event) MatchesImage(k ImageKey) bool {
	path, name := e.Path, e.Name
	switch e.Kind {
	case EventLoad, EventUnload:
	case EventCall, EventReturn:
		path, name = e.ImagePath, e.ImageName
		if path == "" && name == "" {
			return k.Main
		}
	case EventAddress:
		// One attribute for both: a file name cannot hold a slash.
		path, name = e.Image, e.Image
		return k.HasPath(path) || k.HasName(name)
	// Threads, counts and signals have nothing to do with images.
	default:
		return false
	}
	if path != "" {
		return k.HasPath(path)
	}
	return k.HasName(name)
}

// MatchesFunction tells whether a function is the one that a Call or Return
// names. Unlike for a Function of a Profile, parts that the compiler cut out of
// the function (foo.cold) are not the function: jumping there is no call of it.
func (e *Event) MatchesFunction(k FuncKey) bool {
	if e.Kind != EventCall && e.Kind != EventReturn {
		return false
	}
	name := canonicalName(e.Name)
	for a := -1; a < len(k.Aliases); a++ {
		key := k.alias(a)
		// Without owners: entering foo.cold is no call of foo.
		if key.glob(e.Name, e.Decorated, false) {
			return true
		}
		// A plain name that equals the symbol as linked matches too.
		if !e.Decorated && (key.Linked == name || unversioned(key.Linked) == name) && name != "" {
			return true
		}
	}
	return false
}

// unversioned strips a symbol version.
func unversioned(s string) string {
	// From the second character on: a name that is nothing but a version is a name.
	for i := 1; i < len(s); i++ {
		if s[i] == '@' {
			return s[:i]
		}
	}
	return s
}

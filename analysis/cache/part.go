package cache

// counting is what a simulator counts with, apart from its caches: what it knows of blocks, by which their executions are
// counted as well.
type counting struct {
	recipes []*recipe
	lines   lineTable
	filter  *filter
}

// Count says whether what comes counts. What does not goes through the caches all the same.
func (s *Simulator) Count(on bool) {
	if on != s.muted {
		return
	}
	s.settle()
	s.muted = !on
	if s.apart == nil {
		s.apart = new(counting)
		if s.filter != nil {
			s.apart.filter = newFilter(s)
		}
	}
	o := s.apart
	s.recipes, o.recipes = o.recipes, s.recipes
	s.lines, o.lines = o.lines, s.lines
	s.filter, o.filter = o.filter, s.filter
}

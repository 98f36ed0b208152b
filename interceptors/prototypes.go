package interceptors

// Shipped is what is known of a function of the C library by one of its names; nil: nothing.
func (c *Compiler) Shipped(names []string) *Prototype { return nil }

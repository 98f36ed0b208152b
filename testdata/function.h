/* For assembly: `function name` begins a function that symbol tables know, `end name` gives it its
 * size. */
	.macro function name
	.globl \name
	.type \name, @function
\name:
	.endm
	.macro end name
	.size \name, .-\name
	.endm

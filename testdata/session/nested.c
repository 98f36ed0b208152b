/* An image with functions of known names. Nobody executes it: tests of internal/session say what a process does. */
void inner(void) {}
void outer(void) { inner(); }
int main(void) { outer(); return 0; }
void _start(void) { main(); }

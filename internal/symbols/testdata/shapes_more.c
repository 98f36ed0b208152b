/* The second static function called twin. */
__attribute__((noinline)) static int twin(int x) { return x * 7 - 1; }
int more(int x) { return twin(x) + twin(x + 1); }

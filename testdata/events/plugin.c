/* A library to be loaded at run time. */
int plugin_run(int x) { return x * 3 + 1; }

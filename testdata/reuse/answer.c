// answer: a library whose one function returns VALUE. Built twice, the two versions have the same code but for a constant.
int answer(void) { return VALUE; }

/* A program that looks at itself. */
/* expect stdout: ok */
#include "check.h"
#include <sys/auxv.h>
int main(int argc, char **argv) {
	char exe[4096], line[1024];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
	CHECK(n > 0);
	exe[n] = 0;
	CHECK(strstr(exe, "rights-proc") && argc == 1 && strstr(argv[0], "rights-proc"));
	FILE *f = fopen("/proc/self/cmdline", "r");
	CHECK(f && fgets(line, sizeof line, f) && strcmp(line, argv[0]) == 0);
	fclose(f);
	f = fopen("/proc/self/comm", "r");
	CHECK(f && fgets(line, sizeof line, f) && strncmp(line, "rights-proc", 11) == 0);
	fclose(f);
	f = fopen("/proc/self/maps", "r");
	CHECK(f);
	int main_x = 0, stack = 0;
	while (fgets(line, sizeof line, f)) {
		uint64_t a, b;
		char prot[8];
		CHECK(sscanf(line, "%lx-%lx %7s", &a, &b, prot) == 3);
		if (a <= (uint64_t)main && (uint64_t)main < b) main_x = strcmp(prot, "r-xp") == 0;
		stack |= a <= (uint64_t)&n && (uint64_t)&n < b;
	}
	fclose(f);
	CHECK(main_x && stack && getauxval(AT_SECURE) == 0);
	/* In a container the session's leader may have no number here: 0. */
	CHECK(getppid() > 0 && getsid(0) >= 0 && getsid(0) == getsid(getppid()));
	return OK();
}

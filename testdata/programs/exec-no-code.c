/* Programs that begin where nothing can be executed, as shared libraries do that are run by mistake:
 * they die as they would. */
/* expect stdout: ok */
/* untraced: its first instruction is in no executable memory */
#include "check.h"
#include <elf.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

static void program(const char *path) {
	struct { Elf64_Ehdr e; Elf64_Phdr p; } f = {
		.e = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT}, .e_type = ET_DYN, .e_machine = EM_X86_64, .e_version = EV_CURRENT,
			.e_phoff = sizeof f.e, .e_ehsize = sizeof f.e, .e_phentsize = sizeof f.p, .e_phnum = 1},
		.p = {.p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = sizeof f, .p_memsz = sizeof f, .p_align = 4096}};
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0755);
	CHECK(write(fd, &f, sizeof f) == sizeof f && close(fd) == 0);
}

int main(void) {
	char path[] = "./nocode", *argv[] = {path, NULL}, *none[] = {NULL};
	program(path);
	pid_t pid;
	int status;
	CHECK(posix_spawn(&pid, path, NULL, NULL, argv, none) == 0); /* by vfork */
	CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	if ((pid = fork()) == 0) {
		execve(path, argv, none);
		_exit(1);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	CHECK(unlink(path) == 0);
	puts("ok");
	return 0;
}

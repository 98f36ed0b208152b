// Package errno names Linux's error numbers.
//
// It is a table and two lookups: configurations name errors (package config), and captured calls have their numbers (package abp/calls). It does not say what
// they mean, and knows of no other system's.
package errno

import (
	"slices"
	"strings"
)

// table is the names, in the order of their numbers from 1; a number without a name of its own has a dash.
const table = "EPERM ENOENT ESRCH EINTR EIO ENXIO E2BIG ENOEXEC EBADF ECHILD EAGAIN ENOMEM EACCES EFAULT ENOTBLK EBUSY EEXIST EXDEV ENODEV ENOTDIR EISDIR EINVAL ENFILE EMFILE ENOTTY ETXTBSY EFBIG ENOSPC ESPIPE " +
	"EROFS EMLINK EPIPE EDOM ERANGE EDEADLK ENAMETOOLONG ENOLCK ENOSYS ENOTEMPTY ELOOP - ENOMSG EIDRM ECHRNG EL2NSYNC EL3HLT EL3RST ELNRNG EUNATCH ENOCSI EL2HLT EBADE EBADR EXFULL ENOANO EBADRQC EBADSLT - EBFONT ENOSTR " +
	"ENODATA ETIME ENOSR ENONET ENOPKG EREMOTE ENOLINK EADV ESRMNT ECOMM EPROTO EMULTIHOP EDOTDOT EBADMSG EOVERFLOW ENOTUNIQ EBADFD EREMCHG ELIBACC ELIBBAD ELIBSCN ELIBMAX ELIBEXEC EILSEQ ERESTART ESTRPIPE EUSERS ENOTSOCK " +
	"EDESTADDRREQ EMSGSIZE EPROTOTYPE ENOPROTOOPT EPROTONOSUPPORT ESOCKTNOSUPPORT EOPNOTSUPP EPFNOSUPPORT EAFNOSUPPORT EADDRINUSE EADDRNOTAVAIL ENETDOWN ENETUNREACH ENETRESET ECONNABORTED ECONNRESET ENOBUFS EISCONN " +
	"ENOTCONN ESHUTDOWN ETOOMANYREFS ETIMEDOUT ECONNREFUSED EHOSTDOWN EHOSTUNREACH EALREADY EINPROGRESS ESTALE EUCLEAN ENOTNAM ENAVAIL EISNAM EREMOTEIO EDQUOT ENOMEDIUM EMEDIUMTYPE ECANCELED ENOKEY EKEYEXPIRED " +
	"EKEYREVOKED EKEYREJECTED EOWNERDEAD ENOTRECOVERABLE ERFKILL EHWPOISON"

// Names are all names, in the order of their numbers.
func Names() []string {
	return slices.DeleteFunc(strings.Fields(table), func(name string) bool { return name == "-" })
}

// Name is the name of an error number, empty if it has none.
func Name(number uint32) string {
	names := strings.Fields(table)
	if number == 0 || number > uint32(len(names)) || names[number-1] == "-" {
		return ""
	}
	return names[number-1]
}

// Number is the error number of a name, also of those that are another one's; 0: there is none.
func Number(name string) uint32 {
	switch name {
	case "EWOULDBLOCK":
		name = "EAGAIN"
	case "EDEADLOCK":
		name = "EDEADLK"
	case "ENOTSUP":
		name = "EOPNOTSUPP"
	case "-":
		return 0
	}
	return uint32(slices.Index(strings.Fields(table), name) + 1)
}

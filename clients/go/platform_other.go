//go:build !unix

package once

import (
	"errors"
	"os"
	"syscall"
)

func ownSession() *syscall.SysProcAttr { return nil }

// Whose a file is cannot be told here: give the server's URL.
func openOwned(string) (*os.File, error) {
	return nil, errors.New("a directory's server is found on Unix only")
}

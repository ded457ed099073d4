//go:build unix

package once

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// The server outlives the terminal of the program that started it.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// The file of a server's address, if it is a plain file of the directory's owner.
func openOwned(directory string) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(directory, "server"), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	found, err := file.Stat()
	if err == nil {
		var home os.FileInfo
		if home, err = os.Stat(directory); err == nil && trusted(found, home) {
			return file, nil
		}
	}
	file.Close()
	return nil, errors.New("another user's file")
}

func trusted(file, home os.FileInfo) bool {
	owner, has := file.Sys().(*syscall.Stat_t)
	of, also := home.Sys().(*syscall.Stat_t)
	return file.Mode().IsRegular() && has && also && (owner.Uid == of.Uid || owner.Uid == 0)
}

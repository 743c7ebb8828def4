package wholefile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// Replace writes a file beside the one at path, waits for the disk, and puts it in the place
// of the old one. Only one caller at a time may replace a file.
func Replace(path string, write func(io.Writer) error) error {
	next := path + ".next"
	file, err := os.OpenFile(next, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if err = write(file); err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(next)) // a full disk needs the space
	}
	if err := os.Rename(next, path); err != nil {
		return err
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// Lock takes the lock of the file at path: that of path.lock, which it makes. It lasts until
// the returned file is closed. If another process has it, Lock waits, or fails without wait.
// On systems without flock the error is errors.ErrUnsupported.
func Lock(path string, wait bool) (*os.File, error) {
	file, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lock(file, wait); err != nil {
		return nil, errors.Join(&os.PathError{Op: "lock", Path: file.Name(), Err: err}, file.Close())
	}
	return file, nil
}

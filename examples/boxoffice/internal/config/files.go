package config

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/auth"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/ticket"
)

// Fill makes the data folder and, in it, the secrets that were left out. Secrets of
// an earlier start are used again. The folder and the files are private to the user.
func (c Config) Fill() (Config, error) {
	if err := makeFolder(c.DataDir); err != nil {
		return c, fmt.Errorf("BOXOFFICE_DATA_DIR (--data-dir): %w", err)
	}
	var err error
	if c.Secret == "" {
		if c.Secret, err = c.keep("secret", auth.MinSecret); err != nil {
			return c, err
		}
	}
	if len(c.EntrySecrets) == 0 {
		secret, err := c.keep("entry-token-secret", auth.MinSecret)
		if err != nil {
			return c, err
		}
		c.EntrySecrets = []string{secret}
	}
	if c.TicketKeys == "" {
		// Written as 32 random bytes in hexadecimal digits, which is a seed. A new key is
		// a line before the old one.
		if c.TicketKeys, err = c.keep("ticket-keys", 64); err != nil {
			return c, err
		}
		if _, err := ticket.ParseKeys(c.TicketKeys); err != nil {
			return c, fmt.Errorf("the file %s: %w", filepath.Join(c.DataDir, "ticket-keys"), err)
		}
	}
	if c.AdminToken == "" {
		if c.AdminToken, err = c.keep("admin-token", 16); err != nil {
			return c, err
		}
		c.AdminTokenMade = true
	}
	return c, nil
}

func makeFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("the data folder %s can't be made; choose one that this user may write: %w", dir, err)
	}
	probe, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		return fmt.Errorf("the data folder %s can't be written; choose one that this user may write: %w", dir, err)
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// keep returns the secret of a file, and makes the file when it is missing. Of
// two processes that make it at once, both use the one that was first.
func (c Config) keep(name string, atLeast int) (string, error) {
	path := filepath.Join(c.DataDir, name)
	for range 2 {
		text, err := os.ReadFile(path)
		if err == nil {
			if err := private(path); err != nil {
				return "", err
			}
			secret := strings.TrimSpace(string(text))
			if len(secret) < atLeast {
				return "", fmt.Errorf("the file %s holds %d bytes, needs at least %d; delete it to have a new one made", path, len(secret), atLeast)
			}
			return secret, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("the file %s can't be read: %w", path, err)
		}
		if err := write(path); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", fmt.Errorf("the file %s can't be made; the data folder must be writable: %w", path, err)
		}
	}
	return "", fmt.Errorf("the file %s can't be made", path)
}

// private refuses a secret that every user of the machine can read. A group may read
// it: volumes are shared that way.
func private(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode&0o007 != 0 {
		return fmt.Errorf("the file %s can be read by everybody on this machine (%#o); run chmod o= on it, or delete it to have a new secret made", path, mode)
	}
	return nil
}

// write makes the file whole or not at all: a crash must not leave half a
// secret behind.
func write(path string) error {
	random := make([]byte, 32)
	if _, err := rand.Read(random); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".secret-*") // readable by this user only
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // the link below is what stays
	_, err = f.WriteString(hex.EncodeToString(random) + "\n")
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Link(f.Name(), path)
}

package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// Dir is a [Store] in a folder. One process at a time may write to an object.
type Dir struct{ root string }

// NewDir makes a Dir in the folder root, which is made with the first object.
// It does no I/O.
func NewDir(root string) (*Dir, error) {
	if root == "" {
		return nil, errors.New("archive: root is empty; name a folder")
	}
	return &Dir{root: root}, nil
}

func (d *Dir) path(tier int, id string) (folder, name string) {
	folder, name = path.Split(objectName(tier, id))
	return filepath.Join(d.root, filepath.FromSlash(folder)), name
}

// Put implements Store.
func (d *Dir) Put(_ context.Context, tier int, id string, data []byte) error {
	folder, name := d.path(tier, id)
	if err := d.makeFolder(folder); err != nil {
		return fmt.Errorf("archive: put %s: %w", id, err)
	}
	temporary := filepath.Join(folder, name+".tmp")
	err := writeSynced(temporary, data)
	if err == nil {
		err = os.Rename(temporary, filepath.Join(folder, name))
	}
	if err != nil {
		return fmt.Errorf("archive: put %s: %w", id, errors.Join(err, remove(temporary)))
	}
	if err := syncFolder(folder); err != nil {
		return fmt.Errorf("archive: put %s: %w", id, err)
	}
	return nil
}

// Get implements Store.
func (d *Dir) Get(_ context.Context, tier int, id string) ([]byte, error) {
	folder, name := d.path(tier, id)
	data, err := os.ReadFile(filepath.Join(folder, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("archive: get %s: %w", id, err)
	}
	return data, nil
}

// Delete implements Store.
func (d *Dir) Delete(_ context.Context, tier int, id string) error {
	folder, name := d.path(tier, id)
	err := errors.Join(remove(filepath.Join(folder, name+".tmp")), remove(filepath.Join(folder, name)))
	if err != nil {
		return fmt.Errorf("archive: delete %s: %w", id, err)
	}
	return nil
}

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// makeFolder makes folder and makes sure that its names last, too.
func (d *Dir) makeFolder(folder string) error {
	if _, err := os.Stat(folder); err == nil {
		return nil
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	for _, parent := range []string{filepath.Dir(folder), d.root, filepath.Dir(d.root)} {
		if err := syncFolder(parent); err != nil {
			return err
		}
	}
	return nil
}

func writeSynced(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func syncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

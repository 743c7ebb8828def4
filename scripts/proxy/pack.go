package main

import (
	"archive/zip"
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// own matches what a go.mod requires of this tree.
var own = regexp.MustCompile(`(?m)^((?:require )?\s*github\.com/millrace-go/millrace\S*) v\S+`)

var versionForm = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

// Pack writes the modules that scripts/modules of the tree at root names to a folder,
// laid out as the go command asks a proxy for them.
func Pack(root, to, version string) error {
	if !versionForm.MatchString(version) {
		return fmt.Errorf("-version %q is no version; use one such as v0.1.0-mine", version)
	}
	folders, err := modules(root)
	if err != nil {
		return err
	}
	files, err := tracked(root)
	if err != nil {
		return err
	}
	for _, folder := range folders {
		if err := pack(root, folder, to, version, files); err != nil {
			return fmt.Errorf("module %s: %w", folder, err)
		}
	}
	return nil
}

// modules reads the folders of the tree's modules.
func modules(root string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(root, "scripts", "modules"))
	return strings.Fields(string(text)), err
}

// tracked is the files of the tree that git does not ignore, as they are now.
func tracked(root string) ([]string, error) {
	var out bytes.Buffer
	cmd := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard", "-z")
	cmd.Dir, cmd.Stdout, cmd.Stderr = root, &out, os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w", cmd, err)
	}
	return strings.FieldsFunc(out.String(), func(r rune) bool { return r == 0 }), nil
}

func pack(root, folder, to, version string, files []string) error {
	mod, err := os.ReadFile(filepath.Join(root, folder, "go.mod"))
	if err != nil {
		return err
	}
	mod = own.ReplaceAll(mod, []byte("${1} "+version))
	name := modulePath(mod)
	if name == "" {
		return errors.New("go.mod has no module line")
	}
	dir := filepath.Join(to, filepath.FromSlash(name), "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var packed bytes.Buffer
	zipped := zip.NewWriter(&packed)
	prefix := name + "@" + version + "/"
	for _, file := range within(folder, files) {
		text, err := os.ReadFile(filepath.Join(root, folder, file))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue // deleted, not yet committed
		case err != nil:
			return err
		case file == "go.mod":
			text = mod
		}
		entry, err := zipped.Create(prefix + file)
		if err != nil {
			return err
		}
		if _, err := entry.Write(text); err != nil {
			return err
		}
	}
	if err := zipped.Close(); err != nil {
		return err
	}
	info, err := json.Marshal(map[string]any{"Version": version, "Time": time.Unix(0, 0).UTC()})
	if err != nil {
		return err
	}
	for file, text := range map[string][]byte{
		"list": []byte(version + "\n"), version + ".info": info, version + ".mod": mod, version + ".zip": packed.Bytes(),
	} {
		if err := os.WriteFile(filepath.Join(dir, file), text, 0o644); err != nil { //nolint:gosec // for every user's go command
			return err
		}
	}
	return nil
}

// within is the files below a module's folder, without those of modules below it.
func within(folder string, files []string) []string {
	var nested []string
	for _, file := range files {
		if dir := path.Dir(file); path.Base(file) == "go.mod" && dir != folder {
			nested = append(nested, dir+"/")
		}
	}
	var all []string
	for _, file := range files {
		inside := file
		if folder != "." {
			var ok bool
			if inside, ok = strings.CutPrefix(file, folder+"/"); !ok {
				continue
			}
		}
		foreign := false
		for _, other := range nested {
			// A module around this one has its files too.
			foreign = foreign || strings.HasPrefix(file, other) && !strings.HasPrefix(folder+"/", other)
		}
		if !foreign {
			all = append(all, inside)
		}
	}
	return all
}

// modulePath is the path that a go.mod names, "" if it names none.
func modulePath(mod []byte) string {
	lines := bufio.NewScanner(bytes.NewReader(mod))
	for lines.Scan() {
		if name, ok := strings.CutPrefix(lines.Text(), "module "); ok {
			return strings.TrimSpace(name)
		}
	}
	return ""
}

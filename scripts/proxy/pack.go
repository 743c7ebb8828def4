package main

import (
	"archive/zip"
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

// own matches the requirements of a go.mod on this tree.
var own = regexp.MustCompile(`(?m)^((?:require )?\s*github\.com/millrace-go/millrace\S*) v\S+`)

var versionForm = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

// Pack writes the modules of go.work in the tree at root to a folder, laid out as the
// go command asks a proxy for them.
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
	for name, folder := range folders {
		if err := pack(root, name, folder, to, version, files); err != nil {
			return fmt.Errorf("module %s: %w", name, err)
		}
	}
	return nil
}

// modules is the folders of the tree's modules, from its root, by their paths.
func modules(root string) (map[string]string, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	out, err := output(root, "go", "list", "-m", "-f", "{{.Path}}\t{{.Dir}}")
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for line := range strings.Lines(out) {
		name, dir, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if all[name], err = filepath.Rel(root, dir); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// output is the output of a command in a folder.
func output(dir, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.Env = append(os.Environ(), "GOWORK="+filepath.Join(dir, "go.work"))
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", cmd, err)
	}
	return string(out), nil
}

// tracked are the tree's present files, from its root, that git does not ignore.
func tracked(root string) ([]string, error) {
	out, err := output(root, "git", "ls-files", "--cached", "--others", "--exclude-standard", "-z")
	return strings.FieldsFunc(out, func(r rune) bool { return r == 0 }), err
}

func pack(root, name, folder, to, version string, files []string) error {
	mod, err := os.ReadFile(filepath.Join(root, folder, "go.mod"))
	if err != nil {
		return err
	}
	mod = own.ReplaceAll(mod, []byte("${1} "+version))
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

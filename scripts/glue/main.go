// Command glue writes the Lua scripts that have parts in common: each whole, as it runs in
// Redis and in redis-cli. Functions that scripts share would have to be loaded into every
// node of a Cluster first, and again after each restart.
//
//	go run ./scripts/glue          # after a part was changed
//	go run ./scripts/glue -check   # fails where a script is not that of its parts
//
// A folder lua/parts holds the parts and the file scripts.txt, with a line for each script
// of the folder above: its name, a colon, and its parts in order. After a line that says
// "inline", names in capitals that a part declares are replaced by their values: a local
// that functions use costs every run of a script an allocation.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

var (
	constants = regexp.MustCompile(`^local ([A-Z_]+(?:, [A-Z_]+)*) = (.*)$`)
	capitals  = regexp.MustCompile(`\b[A-Z][A-Z_]+\b`)
)

func main() {
	check := flag.Bool("check", false, "write nothing, and fail where a script is not that of its parts")
	flag.Parse()
	if err := run(".", *check); err != nil {
		fmt.Fprintln(os.Stderr, "glue:", err)
		os.Exit(1)
	}
}

// run writes, or checks, all scripts of a tree.
func run(root string, check bool) error {
	var lists []string
	err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if strings.HasSuffix(filepath.ToSlash(path), "lua/parts/scripts.txt") {
			lists = append(lists, path)
		}
		return err
	})
	for _, list := range lists {
		if err == nil {
			err = glue(list, check)
		}
	}
	return err
}

// glue writes, or checks, the scripts of one list.
func glue(list string, check bool) error {
	text, err := os.ReadFile(list)
	if err != nil {
		return err
	}
	parts := filepath.Dir(list)
	inline := false
	for line := range strings.Lines(string(text)) {
		name, names, found := strings.Cut(strings.TrimSpace(line), ":")
		switch {
		case name == "inline":
			inline = true
			continue
		case !found:
			return fmt.Errorf("%s: %q is neither a script with its parts nor inline", list, name)
		}
		script, err := whole(parts, strings.Fields(names), inline)
		if err != nil {
			return err
		}
		into := filepath.Join(parts, "..", name+".lua")
		if !check {
			err = os.WriteFile(into, script, 0o644) //nolint:gosec // a source file
		} else if old, failed := os.ReadFile(into); failed != nil || !bytes.Equal(old, script) {
			err = fmt.Errorf("%s is not that of its parts: run go run ./scripts/glue", into)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// whole is a script of parts.
func whole(folder string, parts []string, inline bool) ([]byte, error) {
	out := []byte("-- Made by go run ./scripts/glue of " + strings.Join(parts, ", ") + " in parts. Edit those.\n")
	values := map[string]string{}
	for _, part := range parts {
		text, err := os.ReadFile(filepath.Join(folder, part+".lua"))
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(text)) {
			if inline {
				line = inlined(line, values)
			}
			out = append(out, line...)
		}
	}
	return out, nil
}

// inlined is a line with the values of constants for their names. A line that declares
// some becomes a comment, and adds them to the values.
func inlined(line string, values map[string]string) string {
	if declared := constants.FindStringSubmatch(strings.TrimSuffix(line, "\n")); declared != nil {
		code, _, _ := strings.Cut(declared[2], "--")
		list := strings.Split(strings.TrimSpace(code), ", ")
		for i, name := range strings.Split(declared[1], ", ") {
			values[name] = list[i]
		}
		return "-- " + strings.TrimPrefix(line, "local ")
	}
	code, comment, found := strings.Cut(line, "--")
	code = capitals.ReplaceAllStringFunc(code, func(name string) string {
		if value, ok := values[name]; ok {
			return value
		}
		return name
	})
	if found {
		code += "--" + comment
	}
	return code
}

package migrate

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// migration is one file.
type migration struct {
	version int64
	name    string
	text    string // between "+goose Up" and "+goose Down"
}

// migrations reads the set's files, oldest first.
func (s Set) migrations() ([]migration, error) {
	names, err := fs.Glob(s.FS, "*.sql")
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, errors.New("FS holds no .sql file; give the folder with the migrations")
	}
	all := make([]migration, len(names))
	for i, name := range names {
		text, err := fs.ReadFile(s.FS, name)
		if err != nil {
			return nil, err
		}
		number, _, _ := strings.Cut(name, "_")
		version, err := strconv.ParseInt(number, 10, 64)
		if err != nil || version < 1 {
			return nil, fmt.Errorf("%s: the name does not begin with a version; name it NNNN_name.sql", name)
		}
		up, err := up(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all[i] = migration{version, name, up}
	}
	slices.SortFunc(all, func(a, b migration) int { return cmp.Compare(a.version, b.version) })
	for i := 1; i < len(all); i++ {
		if all[i].version == all[i-1].version {
			return nil, fmt.Errorf("%s and %s have the same version; give one of them another number", all[i-1].name, all[i].name)
		}
	}
	return all, nil
}

// up returns the text between "+goose Up" and "+goose Down". Goose's other marks
// are refused: no file of ours has one.
func up(text string) (string, error) {
	var out strings.Builder
	began, in := false, false
	for line := range strings.Lines(text) {
		mark, ok := strings.CutPrefix(strings.TrimSpace(line), "-- +goose ")
		switch {
		case ok && strings.EqualFold(mark, "Up"):
			began, in = true, true
		case ok && strings.EqualFold(mark, "Down"):
			in = false
		case ok:
			return "", fmt.Errorf("the mark %q is unknown; use Up and Down", mark)
		case in:
			out.WriteString(line)
		}
	}
	if !began {
		return "", errors.New(`there is no line "-- +goose Up"; put one before the statements`)
	}
	return strings.TrimSpace(out.String()), nil
}

// statements splits a text behind the lines that end with a semicolon, as goose does: drivers
// for MySQL accept one statement at a time.
func statements(text string) ([]string, error) {
	var all []string
	var one strings.Builder
	for line := range strings.Lines(text) {
		last := "" // the last word before a comment
		for word := range strings.FieldsSeq(line) {
			if strings.HasPrefix(word, "--") {
				break
			}
			last = word
		}
		if one.Len() == 0 && last == "" {
			continue // nothing has begun
		}
		one.WriteString(line)
		if strings.HasSuffix(last, ";") {
			all = append(all, strings.TrimSpace(one.String()))
			one.Reset()
		}
	}
	if one.Len() > 0 {
		return nil, fmt.Errorf("the last statement does not end with a semicolon: %s", strings.TrimSpace(one.String()))
	}
	return all, nil
}

package figures

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/millrace-go/millrace/proof/report"
)

// proofs is the file of the proofs' figures: it has no rounds and no peers.
const proofs = "proofs.json"

// Set is the set of all measured figures.
type Set struct {
	dir      string
	sections map[string]report.Section
	proofs   map[string]map[string]string // by command, then by name
}

// Load reads the folder of the results.
func Load(dir string) (*Set, error) {
	s := &Set{dir: dir, sections: map[string]report.Section{}}
	text, err := os.ReadFile(filepath.Join(dir, proofs))
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &s.proofs)
	}
	if err != nil {
		return nil, fmt.Errorf("figures: %s: %w", proofs, err)
	}
	return s, nil
}

func (s *Set) section(name string) (report.Section, error) {
	if have, ok := s.sections[name]; ok {
		return have, nil
	}
	section, measured, err := report.Load(s.dir, name)
	switch {
	case err != nil:
		return report.Section{}, err
	case !measured:
		return report.Section{}, fmt.Errorf("the section %q was not measured; make bench ONLY=%s", name, name)
	}
	s.sections[name] = section
	return section, nil
}

func (s *Set) claim(section, what string) (report.Claim, error) {
	of, err := s.section(section)
	if err != nil {
		return report.Claim{}, err
	}
	for _, c := range of.Claims {
		if strings.TrimSpace(c.What) == what {
			return c, nil
		}
	}
	return report.Claim{}, fmt.Errorf("section %s has no claim %q", section, what)
}

func (s *Set) figure(section, chart, name string) (report.Figure, error) {
	of, err := s.section(section)
	if err != nil {
		return report.Figure{}, err
	}
	for _, f := range of.Figures {
		if f.Chart == chart && f.Name == name {
			return f, nil
		}
	}
	return report.Figure{}, fmt.Errorf("section %s has no figure of %q in the chart %q", section, name, chart)
}

func (s *Set) proof(command, name string) (string, error) {
	if value, ok := s.proofs[command][name]; ok {
		return value, nil
	}
	return "", fmt.Errorf("%s has no %q of %q", proofs, name, command)
}

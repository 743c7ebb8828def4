package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/millrace-go/millrace/queue"
)

// laned reads the flags of lanes. Package queue checks their names and shares together.
func (f *gateFlags) laned() error {
	f.Lanes = nil
	for _, text := range f.lanes {
		name, number, found := strings.Cut(text, "=")
		share, err := strconv.ParseFloat(number, 64)
		if !found || err != nil || !(share > 0) || math.IsInf(share, 0) || name == "" {
			return fmt.Errorf("--lane is %.60q; give a name and its part of all turns, such as member=0.3", text)
		}
		f.Lanes = append(f.Lanes, queue.Lane{Name: name, Share: share})
	}
	return nil
}

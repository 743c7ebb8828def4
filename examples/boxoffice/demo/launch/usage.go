package launch

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// CPU is the processor time that the child and its own children have used so far.
func (p *Process) CPU() (time.Duration, error) { return CPU(p.PID(), true) }

// CPU is the processor time that a process has used so far, where the system has /proc.
func CPU(pid int, children bool) (total time.Duration, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	rest := text[strings.LastIndexByte(string(text), ')')+1:] // the name may have spaces
	fields := strings.Fields(string(rest))
	const user, system, perSecond = 11, 12, 100
	if len(fields) <= system {
		return 0, fmt.Errorf("/proc/%d/stat has %q", pid, text)
	}
	for _, field := range []string{fields[user], fields[system]} {
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("/proc/%d/stat: %w", pid, err)
		}
		total += time.Duration(ticks) * time.Second / perSecond
	}
	if !children {
		return total, nil
	}
	below, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return 0, err
	}
	for _, child := range strings.Fields(string(below)) {
		id, err := strconv.Atoi(child)
		if err != nil {
			return 0, err
		}
		used, err := CPU(id, true)
		if err != nil {
			return 0, err
		}
		total += used
	}
	return total, nil
}

// Resident is the memory of the child, in bytes, where the system has /proc.
func (p *Process) Resident() (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	if err != nil {
		return 0, err
	}
	_, rest, found := strings.Cut(string(text), "VmRSS:")
	fields := strings.Fields(rest)
	if !found || len(fields) == 0 {
		return 0, errors.New("the process has no VmRSS in /proc")
	}
	kB, err := strconv.ParseFloat(fields[0], 64)
	return kB * 1024, err
}

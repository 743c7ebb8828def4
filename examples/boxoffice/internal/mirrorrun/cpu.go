package mirrorrun

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// cpuOf is the processor time that a process has used, where the system has /proc.
func cpuOf(pid int) (used time.Duration, known bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, false
	}
	// The name, in parentheses, may have spaces.
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 13 {
		return 0, false
	}
	for _, field := range fields[11:13] { // user and system, in hundredths of a second
		n, err := strconv.ParseInt(string(field), 10, 64)
		if err != nil {
			return 0, false
		}
		used += time.Duration(n) * 10 * time.Millisecond
	}
	return used, true
}

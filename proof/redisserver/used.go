package redisserver

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Used is a server's work so far, and its memory.
type Used struct {
	CPU    time.Duration
	Calls  map[string]int64 // by command, those of scripts included
	Memory int64            // bytes of its data and of its clients' buffers
}

// Used asks the server.
func (s *Server) Used(ctx context.Context) (Used, error) {
	u := Used{Calls: map[string]int64{}}
	text, err := s.admin.Info(ctx, "cpu").Result()
	if err != nil {
		return u, err
	}
	seconds := 0.0
	for name, value := range fields(text) {
		if name != "used_cpu_user" && name != "used_cpu_sys" {
			continue
		}
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return u, fmt.Errorf("INFO cpu: %w", err)
		}
		seconds += n
	}
	u.CPU = time.Duration(seconds * float64(time.Second))
	if text, err = s.admin.Info(ctx, "memory").Result(); err != nil {
		return u, err
	}
	if u.Memory, err = strconv.ParseInt(fields(text)["used_memory"], 10, 64); err != nil {
		return u, fmt.Errorf("INFO memory: %w", err)
	}
	if text, err = s.admin.Info(ctx, "commandstats").Result(); err != nil {
		return u, err
	}
	for name, value := range fields(text) {
		command, ok := strings.CutPrefix(name, "cmdstat_")
		if !ok {
			continue
		}
		first, _, _ := strings.Cut(strings.TrimPrefix(value, "calls="), ",")
		if u.Calls[command], err = strconv.ParseInt(first, 10, 64); err != nil {
			return u, fmt.Errorf("INFO commandstats: %w", err)
		}
	}
	return u, nil
}

// fields are the lines name:value of an INFO.
func fields(text string) map[string]string {
	found := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			found[name] = value
		}
	}
	return found
}

// Since returns the processor time, and the calls of some commands, since then.
func (u Used) Since(before Used, commands []string) (time.Duration, int64) {
	var n int64
	for _, c := range commands {
		n += u.Calls[c] - before.Calls[c]
	}
	return u.CPU - before.CPU, n
}

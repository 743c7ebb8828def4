package gateway

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
)

// listen opens an address, or takes the listener that a supervisor has opened and keeps
// open over restarts: fd:3 is the first one of systemd.
func listen(ctx context.Context, at string) (net.Listener, error) {
	number, handed := strings.CutPrefix(at, "fd:")
	if !handed {
		return (&net.ListenConfig{}).Listen(ctx, "tcp", at)
	}
	fd, err := strconv.ParseUint(number, 10, 16)
	if err != nil || fd < 3 {
		return nil, &net.AddrError{Err: "give an address, or the number of a file descriptor from 3 up, such as fd:3", Addr: at}
	}
	file := os.NewFile(uintptr(fd), at)
	defer file.Close() //nolint:errcheck // the listener has a descriptor of its own
	l, err := net.FileListener(file)
	if err != nil {
		return nil, fmt.Errorf("listen at %q: no listener was handed over as file descriptor %d: %w", at, fd, err)
	}
	return l, nil
}

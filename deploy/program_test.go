package deploy

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// program finds a server, or skips the test.
func program(t *testing.T, name string) string {
	t.Helper()
	services := cmp.Or(os.Getenv("MILLRACE_SERVICES_DIR"), "/var/tmp/millrace-services")
	for _, folder := range []string{"", "/usr/sbin/", "/usr/local/sbin/", services + "/envoy/envoy/_bin/", services + "/traefik/bin/"} {
		if path, err := exec.LookPath(folder + name); err == nil {
			return path
		}
	}
	if os.Getenv("MILLRACE_REQUIRE_SERVICES") == "1" {
		t.Fatalf("%s is not there; scripts/services.sh up installs it", name)
	}
	t.Skipf("%s is not there; scripts/services.sh up installs it", name)
	return ""
}

// freeAddress is an address for a program to listen at.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close() //nolint:errcheck // for the program
	return l.Addr().String()
}

// listening runs a program with a configuration until the test ends, and returns when it
// listens at the address.
func listening(t *testing.T, at, path, file, text string, args func(folder, file string) []string) {
	t.Helper()
	folder := t.TempDir()
	as := filepath.Join(folder, file)
	text = strings.Replace(text, "http {\n", "http {\naccess_log off; client_body_temp_path "+folder+"; proxy_temp_path "+folder+"; fastcgi_temp_path "+folder+"; uwsgi_temp_path "+folder+"; scgi_temp_path "+folder+";\n", 1)
	require.NoError(t, os.WriteFile(as, []byte(text), 0o600))
	var said bytes.Buffer
	cmd := exec.Command(path, args(folder, as)...)
	cmd.Env = append(os.Environ(), "HOME="+folder, "XDG_DATA_HOME="+folder, "XDG_CONFIG_HOME="+folder)
	cmd.Stdout, cmd.Stderr = &said, &said
	require.NoError(t, cmd.Start())
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended
		<-exited
		if t.Failed() {
			t.Log(said.String())
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	require.NoErrorf(t, until(ctx, func() bool {
		conn, err := net.Dial("tcp", at)
		if err != nil {
			return false
		}
		_ = conn.Close()
		return true
	}), "%s does not listen", path)
}

func nginxArgs(folder, file string) []string {
	return []string{"-p", folder, "-c", file, "-g", "daemon off; pid " + folder + "/pid; error_log stderr;"}
}

// until asks again and again, as another program is the one that works.
func until(ctx context.Context, done func() bool) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			return errors.New("it never came")
		case <-tick.C:
		}
	}
	return nil
}

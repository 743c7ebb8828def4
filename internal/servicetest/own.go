package servicetest

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/millrace-go/millrace/internal/certtest"
)

// PostgresTLS starts a PostgreSQL of the test's own that presents the certificate and accepts no
// connection without TLS. It returns the URL of an empty database, without parameters. The
// server ends with the test. Without its programs the test ends as in [Missing].
func PostgresTLS(t testing.TB, c certtest.Certificate) string {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	if len(found) == 0 {
		Missing(t, "needs a PostgreSQL of its own: install the package postgresql")
	}
	bin := found[len(found)-1]
	o := newOwner(t, "postgres", c)
	data := filepath.Join(o.dir, "data")
	made := o.command(filepath.Join(bin, "initdb"), "-D", data, "-U", "millrace", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	if out, err := made.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	rules := "hostssl all all 127.0.0.1/32 trust\n"
	if err := os.WriteFile(filepath.Join(data, "pg_hba.conf"), []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	port := o.serve("database system is ready to accept connections", func(port string) []string {
		return []string{
			filepath.Join(bin, "postgres"), "-D", data, "-p", port, "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=",
			"-c", "fsync=off", "-c", "ssl=on", "-c", "ssl_cert_file=" + o.cert, "-c", "ssl_key_file=" + o.key,
		}
	})
	return "postgres://millrace@127.0.0.1:" + port + "/postgres"
}

// MariaDBTLS is [PostgresTLS] for MariaDB.
func MariaDBTLS(t testing.TB, c certtest.Certificate) string {
	t.Helper()
	program, err := exec.LookPath("mariadbd")
	if err != nil {
		Missing(t, "needs a MariaDB of its own: install the package mariadb-server")
	}
	o := newOwner(t, "mysql", c)
	data, init := filepath.Join(o.dir, "data"), filepath.Join(o.dir, "init.sql")
	made := o.command("mariadb-install-db", "--no-defaults", "--datadir="+data, "--auth-root-authentication-method=normal", "--skip-test-db")
	made.Env = append(made.Env, "TMPDIR="+o.dir)
	if out, err := made.CombinedOutput(); err != nil {
		t.Fatalf("mariadb-install-db: %v\n%s", err, out)
	}
	account := "CREATE DATABASE millrace CHARACTER SET utf8mb4;\nGRANT ALL ON *.* TO 'millrace'@'%' IDENTIFIED BY 'millrace';\n"
	if err := os.WriteFile(init, []byte(account), 0o644); err != nil { //nolint:gosec // the server's user reads it
		t.Fatal(err)
	}
	port := o.serve("ready for connections", func(port string) []string {
		return []string{
			program, "--no-defaults", "--datadir=" + data, "--port=" + port, "--bind-address=127.0.0.1", "--skip-name-resolve",
			"--socket=" + filepath.Join(o.dir, "sock"), "--tmpdir=" + o.dir, "--init-file=" + init,
			"--require-secure-transport=ON", "--ssl-cert=" + o.cert, "--ssl-key=" + o.key, "--innodb-buffer-pool-size=32M",
		}
	})
	return "mysql://millrace:millrace@127.0.0.1:" + port + "/millrace"
}

// owner runs the programs of a server as its user, in a folder that belongs to the user.
type owner struct {
	t         testing.TB
	dir       string
	cert, key string
	as        *syscall.Credential // nil for the test's own user
}

func newOwner(t testing.TB, name string, c certtest.Certificate) *owner {
	t.Helper()
	// Not t.TempDir, which other users cannot enter.
	dir, err := os.MkdirTemp("", name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	o := &owner{t: t, dir: dir, cert: filepath.Join(dir, "cert.pem"), key: filepath.Join(dir, "key.pem")}
	for from, to := range map[string]string{c.Cert: o.cert, c.Key: o.key} {
		text, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(to, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if os.Geteuid() != 0 {
		return o
	}
	// The servers refuse to run as root.
	u, err := user.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	uid, _ := strconv.ParseUint(u.Uid, 10, 32)
	gid, _ := strconv.ParseUint(u.Gid, 10, 32)
	o.as = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	for _, path := range []string{o.dir, o.cert, o.key} {
		if err := os.Chown(path, int(uid), int(gid)); err != nil { //nolint:gosec // ids of users fit
			t.Fatal(err)
		}
	}
	return o
}

func (o *owner) command(words ...string) *exec.Cmd {
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir, cmd.Env = o.dir, append(os.Environ(), "LC_ALL=C")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: o.as}
	return cmd
}

// serve runs a server on a free port until the test ends, and returns the port when the server
// has printed that it is ready.
func (o *owner) serve(ready string, words func(port string) []string) (port string) {
	o.t.Helper()
	var said []string
	for range 20 {
		// Below the range of outgoing ports.
		port = strconv.Itoa(12_000 + rand.IntN(3000))
		cmd := o.command(words(port)...)
		printed, err := cmd.StderrPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			o.t.Fatal(err)
		}
		lines := bufio.NewScanner(printed)
		up := false
		for said = nil; !up && lines.Scan(); {
			said = append(said, lines.Text())
			up = strings.Contains(lines.Text(), ready)
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for lines.Scan() { // so that the server never waits for a reader
			}
			_ = cmd.Wait()
		}()
		if up {
			o.t.Cleanup(func() { o.end(cmd, ended) })
			return port
		}
		<-ended // the port was taken, or the server failed
	}
	o.t.Fatalf("%s does not start:\n%s", words(port)[0], strings.Join(slices.Clip(said), "\n"))
	return ""
}

// end stops a server, at once if it obeys the signal.
func (o *owner) end(cmd *exec.Cmd, ended <-chan struct{}) {
	_ = cmd.Process.Signal(syscall.SIGQUIT) // nothing of it is read again
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		_ = cmd.Process.Kill()
		<-ended
		o.t.Error(fmt.Errorf("%s did not stop when it was asked to", cmd.Path))
	}
}

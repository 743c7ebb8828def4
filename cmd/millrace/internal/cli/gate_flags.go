package cli

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/millrace-go/millrace/cmd/millrace/internal/gateway"
	"github.com/millrace-go/millrace/queue/token"
)

// gateFlags are the flags of millrace gate, and where else their values come from.
type gateFlags struct {
	gateway.Settings
	rate                     int
	rateOf, trust, lanes     []string
	trustHeader              string
	secret, secretFile, file string
}

// leastKeep is queue.Config.Seen of a gate.
const leastKeep = 10 * time.Minute

// gateVariable begins the environment variable of each flag that no other command has.
const gateVariable = "MILLRACE_GATE_"

func (f *gateFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.To, "to", "", "URL of the site behind the gate, such as http://127.0.0.1:3000")
	flags.StringVar(&f.Listen, "listen", "127.0.0.1:8080", "address for visitors, or for the proxy that asks the judge; fd:3 takes the listener that a supervisor hands over")
	flags.StringVar(&f.AdminListen, "admin-listen", "", "address for operators: /metrics, /healthz, /readyz, /room; none by default")
	flags.StringVar(&f.Redis, "redis", "", "URL of the Redis that keeps the room (or "+redisVariable+"); without one it is in memory, for one process")
	flags.StringVar(&f.Prefix, "prefix", "", "what stands before all keys in Redis")
	flags.StringVar(&f.State, "state", "", "file that keeps the room in memory over restarts of the one gate; needs --secret-file")
	flags.StringVar(&f.Kept, "settings", "", "file that keeps what operators set, so that a loss of the room's data does not resume a paused sale")
	flags.StringVar(&f.Event, "event", "", "name of the room, such as sale")
	flags.IntVar(&f.Threshold, "threshold", 1000, "how many visitors may be inside")
	flags.DurationVar(&f.Active, "active", 10*time.Minute, "how long a visitor has inside")
	flags.StringArrayVar(&f.lanes, "lane", nil, "lane of members that the site has signed, and its part of all turns at most, such as member=0.3; any number")
	flags.DurationVar(&f.Keep, "keep", time.Hour, "how long a visitor that was silent for ten minutes may come back to the place, once")
	flags.StringVar(&f.Stock, "stock-url", "", "URL of the site that answers how many visitors it can still serve, such as 480; asked every second")
	flags.StringArrayVar(&f.Wait, "wait", nil, "pattern of paths that need a place, any number; /** by default")
	flags.StringArrayVar(&f.Pass, "pass", nil, "pattern of paths that need none, such as /static/**; any number")
	flags.StringVar(&f.Judge, "judge", "none", "answer a proxy's questions instead of being one: nginx, envoy, or forward for Caddy, Traefik and HAProxy")
	flags.BoolVar(&f.Proxied, "behind-proxy", false, "believe X-Forwarded-For, -Host and -Proto of a proxy of yours before the gate")
	flags.IntVar(&f.rate, "rate", 5, "how many visitors of an address may join in a second, and 40 times as many at once; 0 for no bound, and none for private addresses")
	flags.StringArrayVar(&f.rateOf, "rate-of", nil, "rate of each address of a network, such as 203.0.113.0/24=50; any number")
	flags.StringArrayVar(&f.trust, "trust", nil, "network of your proxies, such as 10.0.0.0/8, whose word for a visitor's address is believed; any number")
	flags.StringVar(&f.trustHeader, "trust-header", "X-Forwarded-For", "where your proxies say it: X-Forwarded-For or Forwarded")
	flags.BoolVar(&f.Challenge, "challenge", false, "let a browser work for a second before its visitor joins, against programs that join by the thousand, until an operator has turned that on or off; SIGHUP reads it again from the file of --flags")
	flags.StringVar(&f.secret, "secret", "", "secret that signs cookies, at least 32 bytes; others see it in the process list")
	flags.StringVar(&f.secretFile, "secret-file", "", "file of secrets, one a line; the first signs, all verify")
	flags.StringVar(&f.file, "flags", "", "file of more flags, one a line without dashes, such as: threshold 500")
}

// complete fills flags that the command line does not have from the file of --flags and
// from the environment, in this order.
func (f *gateFlags) complete(flags *pflag.FlagSet, env func(string) string) error {
	given := map[string]bool{}
	flags.Visit(func(flag *pflag.Flag) { given[flag.Name] = true })
	set := func(name, value, where string) error {
		if flags.Lookup(name) == nil || name == "flags" {
			return fmt.Errorf("%s: there is no flag %q of the gate%s", where, name, nearestText(name, flagNames(flags)))
		}
		if given[name] {
			return nil
		}
		if err := flags.Set(name, value); err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		return nil
	}
	if f.file == "" && env(gateVariable+"FLAGS") != "" {
		f.file = env(gateVariable + "FLAGS")
	}
	if f.file != "" {
		text, err := os.ReadFile(f.file)
		if err != nil {
			return fmt.Errorf("--flags: %w", err)
		}
		number := 0
		for line := range strings.Lines(string(text)) {
			number++
			line = strings.TrimSpace(line)
			if line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			name, value, _ := strings.Cut(strings.TrimPrefix(line, "--"), " ")
			if err := set(name, strings.TrimSpace(value), fmt.Sprintf("%s:%d", f.file, number)); err != nil {
				return err
			}
		}
		flags.Visit(func(flag *pflag.Flag) { given[flag.Name] = true })
	}
	var err error
	flags.VisitAll(func(flag *pflag.Flag) {
		variable := gateVariable + strings.ToUpper(strings.ReplaceAll(flag.Name, "-", "_"))
		if flag.Name == "redis" {
			variable = redisVariable
		}
		if value := env(variable); value != "" && err == nil && f.owns(flag.Name) {
			err = set(flag.Name, value, variable)
		}
	})
	return err
}

// urls are those whose passwords no text may show, wherever they come from.
func (f *gateFlags) urls() []string { return []string{f.To, f.Redis, f.Stock} }

// owns says whether a flag is the gate's: others are those of every command.
func (f *gateFlags) owns(name string) bool {
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	new(gateFlags).add(own)
	return own.Lookup(name) != nil && name != "flags"
}

func flagNames(flags *pflag.FlagSet) (names []string) {
	flags.VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	return names
}

// check names the flag that is wrong, and the fix, and reads the secrets.
func (f *gateFlags) check() error {
	switch {
	case f.Judge != "none" && f.Judge != "nginx" && f.Judge != "envoy" && f.Judge != "forward":
		return fmt.Errorf("--judge is %q; give nginx, envoy, forward or none", f.Judge)
	case f.Judge == "none" && f.To == "":
		return fmt.Errorf("--to is missing: give the URL of the site behind the gate, such as http://127.0.0.1:3000, or --judge")
	case f.Judge != "none" && f.To != "":
		return fmt.Errorf("--to has no meaning with --judge %s: the proxy that asks the judge has the site; leave one of them out", f.Judge)
	case f.Event == "":
		return fmt.Errorf("--event is missing: name the room, such as sale")
	case f.Threshold < 1:
		return fmt.Errorf("--threshold is %d; give at least 1; to admit no visitor, pause the room", f.Threshold)
	case f.Active < time.Second:
		return fmt.Errorf("--active is %s; give at least 1s", f.Active)
	case f.Keep < leastKeep:
		return fmt.Errorf("--keep is %s; give at least %s: a silent visitor stands in line for as long in any case", f.Keep, leastKeep)
	case f.State != "" && f.Redis != "":
		return fmt.Errorf("--state and --redis (or %s) are both given: the room is in memory with a file, or in Redis; leave one of them out", redisVariable)
	case f.secret != "" && f.secretFile != "":
		return fmt.Errorf("--secret and --secret-file are both given; leave one of them out")
	case f.secret == "" && f.secretFile == "" && f.Redis != "":
		return fmt.Errorf("--secret-file is missing: gates that share a Redis need the same secret; write one with: openssl rand -hex 32")
	case f.secret == "" && f.secretFile == "" && f.State != "":
		return fmt.Errorf("--secret-file is missing: with a new secret after each restart no visitor has the place that --state has kept; write one with: openssl rand -hex 32")
	case f.secret == "" && f.secretFile == "" && len(f.lanes) > 0:
		return fmt.Errorf("--secret-file is missing: the site signs the members of --lane by it; write one with: openssl rand -hex 32")
	}
	if err := f.joins(); err != nil {
		return err
	}
	if err := f.laned(); err != nil {
		return err
	}
	f.Secrets = nil
	switch {
	case f.secret != "":
		f.Secrets = []string{f.secret}
	case f.secretFile != "":
		text, err := os.ReadFile(f.secretFile)
		if err != nil {
			return fmt.Errorf("--secret-file: %w", err)
		}
		f.Secrets = strings.Fields(string(text))
		if len(f.Secrets) == 0 {
			return fmt.Errorf("--secret-file: %s is empty; write a secret with: openssl rand -hex 32", f.secretFile)
		}
	default:
		f.Secrets = []string{rand.Text() + rand.Text()}
	}
	if _, err := token.NewRing(f.Secrets...); err != nil {
		return fmt.Errorf("the secret of --secret or --secret-file: %w", err)
	}
	return nil
}

// ofLane is a lane in a message of package queue.
var ofLane = regexp.MustCompile(`queue: Config\.Lanes\[\d+\]\.Name is`)

// byFlag names the flag in place of the field that it sets, in an error of wrong use.
func byFlag(err error) error {
	text := ofLane.ReplaceAllString(err.Error(), "the name of --lane is")
	text = strings.NewReplacer("gate: Config.Event", "--event", "gate: queuepage: Config.Event", "--event", "gate: Config.Origin", "--to", "gate: Config.Wait", "--wait", "gate: Config.Pass", "--pass",
		"queue: Config.Lanes has", "--lane has", "queue: Config.Lanes", "--lane", "queue: the shares of Config.Lanes", "the shares of --lane",
		"queuehttp: Config.JoinRates.Proxies.Header", "--trust-header", "queuehttp: Config.JoinRates.Proxies.Networks", "--trust",
		"queuehttp: Config.JoinRates.Rate.PerSecond", "--rate", "queuehttp: Config.JoinRates.Networks", "--rate-of",
		"gateway: Settings.To", "--to", "gateway: Settings.Stock", "--stock-url", "redisdb:", "--redis:", "redisqueue: Config.Prefix", "--prefix").Replace(text)
	if text == err.Error() && !errors.As(err, new(*net.AddrError)) {
		return err
	}
	return usageError{errors.New(text)}
}

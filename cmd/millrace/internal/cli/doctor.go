package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace/cmd/millrace/internal/database"
	"github.com/millrace-go/millrace/cmd/millrace/internal/doctor"
	"github.com/millrace-go/millrace/internal/sqlname"
)

// doctorFlags choose the servers to examine.
type doctorFlags struct {
	dbs, buses, redises, packages []string
	timeout                       time.Duration
	strict                        bool
	names                         sqlname.Names
}

func (a *app) doctorCommand() *cobra.Command {
	var f doctorFlags
	cmd := &cobra.Command{
		Use: "doctor [URL…]", Short: "Connect to servers and say what is wrong with them",
		Long: "doctor connects to each URL and says in words what is wrong, and what to do: names that are unknown, servers that do not answer, credentials, TLS, versions, " +
			"settings that break a promise of Millrace, tables that are missing or behind, and clocks that disagree. It changes nothing.\n\n" +
			"A URL without a flag is looked at for everything it can be used for. Without any, those of the environment are looked at. " +
			"It fails when there is an error; with --strict, also when there is a warning.",
		Example: "  millrace doctor --db postgres://app:secret@db/shop --bus kafka://k1,k2,k3/ --redis redis://cache/0\n" +
			"  millrace doctor sqlite:///var/lib/shop/app.db --package outbox,idempotency",
		RunE: func(cmd *cobra.Command, args []string) error {
			targets, err := a.targets(f, args)
			if err != nil {
				return err
			}
			results := doctor.Examine(cmd.Context(), targets, doctor.Config{Timeout: f.timeout, Packages: f.packages, Names: f.names})
			if err := cmd.Context().Err(); err != nil {
				return err
			}
			return a.diagnosis(results, f.strict)
		},
	}
	flags := cmd.Flags()
	// Not slices that split at commas: a URL may name several hosts.
	flags.StringArrayVar(&f.dbs, "db", nil, "URL of a database; any number (or "+dbVariable+")")
	flags.StringArrayVar(&f.buses, "bus", nil, "URL of a transport; any number (or "+busVariable+")")
	flags.StringArrayVar(&f.redises, "redis", nil, "URL of a Redis for limits, queues and keys; any number (or "+redisVariable+")")
	flags.StringSliceVar(&f.packages, "package", nil, "tables that must be there: "+strings.Join(database.PartNames(), ", "))
	flags.DurationVar(&f.timeout, "timeout", 5*time.Second, "how long each connect and each question may take")
	flags.BoolVar(&f.strict, "strict", false, "fail for warnings too")
	nameFlags(cmd, &f.names)
	offersURLs(cmd, "db", dbSchemes()...)
	offersURLs(cmd, "bus", busSchemes()...)
	offersURLs(cmd, "redis", redisSchemes()...)
	offers(cmd, "package", database.PartNames()...)
	a.jsonFlag(cmd)
	return cmd
}

// targets are those of the command line, or else of the environment.
func (a *app) targets(f doctorFlags, args []string) ([]doctor.Target, error) {
	for _, name := range f.packages {
		if !slices.Contains(database.PartNames(), name) {
			return nil, usage("--package %q has no tables; use %s", name, strings.Join(database.PartNames(), ", "))
		}
	}
	if err := validNames(f.names, ""); err != nil {
		return nil, err
	}
	if f.timeout <= 0 {
		return nil, usage("--timeout is %s; give a positive duration such as 5s", f.timeout)
	}
	var out []doctor.Target
	add := func(p doctor.Purpose, urls ...string) {
		for _, u := range urls {
			if u != "" {
				out = append(out, doctor.Target{URL: u, Purpose: p})
				a.urls = append(a.urls, u)
			}
		}
	}
	add(doctor.Database, f.dbs...)
	add(doctor.Transport, f.buses...)
	add(doctor.Redis, f.redises...)
	add(doctor.Any, args...)
	if len(out) == 0 {
		add(doctor.Database, a.Env(dbVariable))
		add(doctor.Transport, a.Env(busVariable))
		add(doctor.Redis, a.Env(redisVariable))
	}
	if len(out) == 0 {
		return nil, usage("there is nothing to look at: give URLs, or set %s, %s or %s", dbVariable, busVariable, redisVariable)
	}
	return out, nil
}

// diagnosis prints the findings.
func (a *app) diagnosis(results []doctor.Result, strict bool) error {
	counts := map[doctor.Level]int{}
	for _, r := range results {
		for _, f := range r.Findings {
			counts[f.Level]++
		}
	}
	errs, warnings := counts[doctor.Error], counts[doctor.Warning]
	err := a.answer(map[string]any{"targets": results, "errors": errs, "warnings": warnings}, "%s\n%s, %s",
		findings(results), counted(errs, "error"), counted(warnings, "warning"))
	if err != nil {
		return err
	}
	if errs > 0 || strict && warnings > 0 {
		return errWrong
	}
	return nil
}

// findings are the lines about each target.
func findings(results []doctor.Result) string {
	var text strings.Builder
	for _, r := range results {
		fmt.Fprintf(&text, "%s (%s)\n", plain(r.URL), r.Purpose)
		for _, f := range r.Findings {
			fmt.Fprintf(&text, "  %-8s %s\n", f.Level, plain(f.Text))
			if f.Fix != "" {
				fmt.Fprintf(&text, "           → %s\n", plain(f.Fix))
			}
		}
	}
	return text.String()
}

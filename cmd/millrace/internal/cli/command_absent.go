package cli

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/spf13/cobra"
)

// noCommand is the error about a command that a group does not have, with the nearest
// existing one: of the group itself, or one further below whose name is nearer.
func noCommand(group *cobra.Command, name string) error {
	near, least := "", -1
	var look func(cmd *cobra.Command, path string)
	look = func(cmd *cobra.Command, path string) {
		for _, under := range cmd.Commands() {
			if d := distance(name, under.Name()); under.IsAvailableCommand() && (least < 0 || d < least) {
				near, least = path+under.Name(), d
			}
		}
		for _, under := range cmd.Commands() {
			look(under, path+under.Name()+" ")
		}
	}
	look(group, "")
	return usage("there is no command %q of %s; the nearest that is there is %q", plain(name), group.CommandPath(), near)
}

// helpOf shows the help of the command that the words name.
func helpOf(root *cobra.Command, words []string) error {
	cmd := root
	for _, word := range words {
		i := slices.IndexFunc(cmd.Commands(), func(c *cobra.Command) bool { return c.Name() == word })
		if i < 0 && !cmd.HasSubCommands() {
			return usage("%s has no commands, such as %q", cmd.CommandPath(), plain(word))
		}
		if i < 0 {
			return noCommand(cmd, word)
		}
		cmd = cmd.Commands()[i]
	}
	cmd.InitDefaultHelpFlag()
	return cmd.Help()
}

// flagLine begins the usage of a flag, such as " -v, --verbose …".
var flagLine = regexp.MustCompile(`(?m)^ +(?:-\w, )?(--[a-z-]+)`)

// noFlag adds to the error about an unknown flag of a command the nearest one that it has.
func noFlag(cmd *cobra.Command, err error) error {
	var unknown interface{ GetSpecifiedName() string } // pflag's NotExistError, among others
	if !errors.As(err, &unknown) || len(unknown.GetSpecifiedName()) < 2 {
		return err // another error, or one letter, to which every other letter is as near
	}
	var names []string
	for _, flag := range flagLine.FindAllStringSubmatch(cmd.Flags().FlagUsages(), -1) {
		names = append(names, flag[1])
	}
	if slices.Contains(names, "--"+unknown.GetSpecifiedName()) {
		return err // the flag exists, and its value is missing or wrong
	}
	return fmt.Errorf("%w%s", err, nearestText("--"+unknown.GetSpecifiedName(), names))
}

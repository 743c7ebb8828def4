package cli

import "github.com/spf13/cobra"

// completionCommand prints scripts by which shells complete command lines.
func (a *app) completionCommand(root *cobra.Command) *cobra.Command {
	shell := func(name, install string, write func() error) *cobra.Command {
		return &cobra.Command{
			Use: name, Short: "Print the completion script for " + name,
			Long: "The script completes commands, flags and their known values, and asks the server of the given URL for topics, shards, ids and events, for a second at most.\n\n" +
				"To have it in every new shell:\n\n  " + install,
			Example: "  millrace completion " + name,
			Args:    cobra.NoArgs,
			RunE:    func(*cobra.Command, []string) error { return write() },
		}
	}
	return a.group(&cobra.Command{
		Use: "completion", Short: "Print a script that completes command lines in your shell",
		Long:    "completion prints a script for bash (4.1 or newer, with the package bash-completion), zsh, fish or PowerShell. It connects to nothing.",
		Example: "  source <(millrace completion bash)\n  millrace completion fish > ~/.config/fish/completions/millrace.fish",
	},
		shell("bash", "millrace completion bash > /etc/bash_completion.d/millrace", func() error { return root.GenBashCompletionV2(a.Out, true) }),
		shell("zsh", `millrace completion zsh > "${fpath[1]}/_millrace"`, func() error { return root.GenZshCompletion(a.Out) }),
		shell("fish", "millrace completion fish > ~/.config/fish/completions/millrace.fish", func() error { return root.GenFishCompletion(a.Out, true) }),
		shell("powershell", "millrace completion powershell >> $PROFILE", func() error { return root.GenPowerShellCompletionWithDesc(a.Out) }),
	)
}

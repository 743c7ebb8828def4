// Package config reads the box office's settings from flags and the environment,
// checks them, and makes optional ones: secrets and the admin token, kept in the data
// folder so that they are the same after a restart.
//
// Every setting has an environment variable and a flag of the same name
// (BOXOFFICE_DATA_DIR, --data-dir); the flag wins. An error names the setting and the
// fix.
//
//	property                                                     proven by
//	flags win over the environment, which wins over defaults     TestPrecedence
//	every mistake is named with its fix, all at once             TestMistakes
//	secrets are made once, kept private, and found again         TestSecrets
//	processes with only a part of the roles need shared URLs     TestSplitRoles
//	no error repeats a password                                  TestMistakes
package config

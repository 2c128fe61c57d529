// Package config is the server's configuration: one struct, defaults in one function, and three ways to say the same
// thing. A setting named "data-dir" is the flag --data-dir, the variable HOUSEFUL_DATA_DIR and the key data-dir of the
// YAML file. A flag beats a variable, a variable beats the file, the file beats the default. What nobody knows, in the
// file or among the variables, is an error and never ignored.
//
// It takes limits from the packages that own them, and starts no goroutine.
package config

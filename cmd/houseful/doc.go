// Command houseful is the server and the tool to look after it: "houseful serve" runs a node, every other command
// speaks to one over HTTP.
//
// main only prints; run builds the commands and does the work. A command that was called the wrong way exits with 2
// and the usage, one that failed with 1. The settings of a server are package internal/config, the catalogue in a file
// is internal/catalogue, the catalogue to play with is internal/demo.
package main

// Command gen compiles the protobuf schema beside it and runs the two code generators that go.mod pins as tools.
// It stands in for protoc, so that generating needs nothing but Go. Run it with "make generate".
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/pluginpb"
)

const modulePath = "github.com/houseful/houseful"

// plugins are the generators, each a tool of go.mod, with the parameter it takes.
var plugins = []struct{ tool, parameter string }{
	{"protoc-gen-go", "module=" + modulePath},
	{"protoc-gen-go-vtproto", "module=" + modulePath + ",features=marshal+unmarshal+unmarshal_unsafe+size"},
}

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// run generates Go code for every schema in dir (the only argument; default fsm/wire), from the module's root.
func run(ctx context.Context, args []string) error {
	dir := "fsm/wire"
	if len(args) == 1 {
		dir = args[0]
	}
	schemas, err := filepath.Glob(filepath.Join(dir, "*.proto"))
	if err != nil || len(schemas) == 0 {
		return fmt.Errorf("no .proto file in %s; run this from the module's root (%w)", dir, err)
	}
	compiler := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{"."}}),
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := compiler.Compile(ctx, schemas...)
	if err != nil {
		return fmt.Errorf("compile the schema: %w", err)
	}
	request := &pluginpb.CodeGeneratorRequest{FileToGenerate: schemas}
	for _, file := range files {
		request.ProtoFile = append(request.ProtoFile, protodesc.ToFileDescriptorProto(file))
	}
	for _, plugin := range plugins {
		request.Parameter = &plugin.parameter
		if err := generate(ctx, plugin.tool, request); err != nil {
			return fmt.Errorf("%s: %w", plugin.tool, err)
		}
	}
	return nil
}

func generate(ctx context.Context, tool string, request *pluginpb.CodeGeneratorRequest) error {
	in, err := proto.MarshalOptions{Deterministic: true}.Marshal(request)
	if err != nil {
		return err
	}
	command := exec.CommandContext(ctx, "go", "tool", tool)
	command.Stdin, command.Stderr = bytes.NewReader(in), os.Stderr
	out, err := command.Output()
	if err != nil {
		return err
	}
	var response pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(out, &response); err != nil {
		return err
	}
	if response.Error != nil {
		return fmt.Errorf("%s", response.GetError())
	}
	for _, file := range response.File {
		if err := os.WriteFile(file.GetName(), []byte(file.GetContent()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

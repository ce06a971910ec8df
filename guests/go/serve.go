package main

import (
	"flag"
	"io"
	"net"
	"os"
	"runtime"
)

// serve is a server for brigade's echo-server: a goroutine for each connection to the socket that
// is its standard input. It prints nothing, and ends when all connections have.
func serve(arguments []string) error {
	flags := flag.NewFlagSet("serve", flag.ExitOnError)
	connections := flags.Int("tasks", 1, "how many `connections`")
	bytes := flags.Int("message", 64, "size of a message in `bytes`")
	workers := flags.Int("workers", runtime.GOMAXPROCS(0), "`GOMAXPROCS`")
	var load work
	flags.Uint64Var(&load.units, "work", 0, "`units` of work for each message")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	runtime.GOMAXPROCS(*workers)
	listener, err := net.FileListener(os.Stdin)
	if err != nil {
		return err
	}
	ended := make(chan error, *connections)
	for range *connections {
		connection, err := listener.Accept()
		if err != nil {
			return err
		}
		go func() { ended <- echo(connection, make([]byte, *bytes), load) }()
	}
	for range *connections {
		if err := <-ended; err != nil {
			return err
		}
	}
	return nil
}

// echo returns messages until the connection ends. One that begins with 0 sets the connection up,
// and has no work.
func echo(connection net.Conn, message []byte, load work) error {
	for {
		if _, err := io.ReadFull(connection, message); err != nil {
			return nil
		}
		if message[0] != 0 {
			load.perform()
		}
		if _, err := connection.Write(message); err != nil {
			return err
		}
	}
}

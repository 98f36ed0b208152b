package main

// figures are modes that remake the figures of the paper on CAB: the ways of handing records over, with
// consumers that drop them and with ones that write; overhead against the size of buffers and of chunks; and overhead against
// the sampling rate. They run when they are named, or the group's name is; analyses by each way are in a group of their own (analyses.go).
func figures(record recorder, addresses []string) []mode {
	var all []mode
	add := func(name, about string, after func(string) (volume, error), flags ...string) {
		m := record(name, about, after, flags...)
		m.slow, m.group = true, "figures"
		all = append(all, m)
	}
	blocks := []string{"--only", "blocks", "--discard"}
	for _, way := range []string{"nway", "fastforward", "batched"} {
		add("blocks-"+way, "blocks, by way of "+way, nil, append(blocks, "--buffering", way)...)
		add("addresses-"+way, "addresses, by way of "+way, nil, append(addresses, "--discard", "--buffering", way)...)
		add("disk-"+way, "disk, by way of "+way, recorded, append(addresses, "-o", "DIR", "--buffering", way)...)
	}
	for _, size := range []string{"64K", "256K", "1M", "4M", "16M"} {
		add("buffer-"+size, "addresses, buffers that stay at "+size+" with chunks of 32K", nil, append(addresses, "--discard", "--buffer-chunk", "32K", "--buffer-max", size)...)
	}
	for _, size := range []string{"16K", "64K", "128K", "512K", "1M"} {
		add("chunk-"+size, "addresses, chunks of "+size, nil, append(addresses, "--discard", "--buffer-chunk", size)...)
	}
	for _, rate := range []string{"1%", "5%", "20%", "50%"} {
		add("sample-"+rate, "addresses in bursts, "+rate+" of all instructions", nil, append(addresses, "--discard", "--sample-rate", rate)...)
		add("native-"+rate, "addresses in bursts, about "+rate+", natively in between", nil, append(addresses, "--discard", "--sample-rate", rate, "--sample-by", "time", "--log", "LOG")...)
		// So near to 1 that minutes between the runs would hide it.
		all[len(all)-1].paired, all[len(all)-1].used = true, usedOf
	}
	return all
}

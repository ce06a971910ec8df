#!/usr/bin/env escript
%%! +Bd +P 2000000
%% Measures Erlang processes: a hand-over by messages, creation and memory, each as a
%% subcommand. Prints laps, as docs/PROTOCOL.md describes them.
%%
%% A hop is one message and one process woken by it, within the emulator. With one worker the
%% kernel has nothing to switch; with several a process may be woken on an idle scheduler, so
%% no number is claimed. Known biases: schedulers spin for a while before they sleep, which
%% counts as CPU time of the process. The emulator handles SIGINT itself: it ends this guest at
%% once, without laps.
-mode(compile).

main(Words) ->
    {Program, Given} = case Words of
        ["--" ++ _ | _] -> {"brigade", Words};
        [] -> {"brigade", []};
        [Name | Rest] -> {Name, Rest}
    end,
    Defaults = #{"tasks" => 500, "iters" => 1000, "warmups" => -1, "max-time" => 1.0e9, "workers" => 0},
    Flags = flags(Given, Defaults),
    lists:member(Program, ["brigade", "creation", "memory"]) orelse usage(Program),
    check_tasks(Program, Flags),
    case maps:get("workers", Flags) of
        0 -> all;
        Workers -> erlang:system_flag(schedulers_online, Workers)
    end,
    run(Program, Flags).

flags([], Flags) -> Flags;
flags(["--" ++ Name, Value | Rest], Flags) when is_map_key(Name, Flags) ->
    {Least, Most} = bounds(Name),
    Number = number(Name, Value),
    (is_number(Number) andalso Number >= Least andalso Number =< Most) orelse
        refuse(2, "--~s ~ts: not a number from ~b to ~b", [Name, Value, Least, Most]),
    flags(Rest, Flags#{Name => Number});
flags([Word | _], _) -> usage(Word).

%% The runner accepts a million laps at most.
bounds("tasks") -> {1, 100000000};
bounds("iters") -> {1, 1000000};
bounds("warmups") -> {-1, 1000000};
bounds("max-time") -> {0, 1000000000};
bounds("workers") -> {0, erlang:system_info(schedulers)}.

%% Only --max-time may have a fraction or an exponent.
number(Name, Text) ->
    try list_to_integer(Text) catch error:badarg ->
        Form = "^([0-9]+)(\\.[0-9]+)?(e[-+]?[0-9]+)?$",
        case re:run(Text, Form, [{capture, [1, 2, 3], list}]) of
            {match, [Whole, "", Exponent]} when Name =:= "max-time" -> float_of(Whole ++ ".0" ++ Exponent);
            {match, [Whole, Fraction, Exponent]} when Name =:= "max-time" -> float_of(Whole ++ Fraction ++ Exponent);
            _ -> none
        end
    end.

float_of(Text) ->
    try list_to_float(Text) catch error:badarg -> none end.

check_tasks("memory", #{"tasks" := Tasks, "iters" := Iters}) when Tasks < 2 * Iters ->
    refuse(2, "--tasks ~b: ~b readings need ~b or more", [Tasks, Iters, 2 * Iters]);
check_tasks(_, #{"tasks" := Tasks}) ->
    Free = erlang:system_info(process_limit) - erlang:system_info(process_count),
    Tasks =< Free orelse refuse(3, "--tasks ~b: this emulator has room for ~b processes: use fewer", [Tasks, Free]).

usage(What) ->
    refuse(2, "cannot follow ~ts; known: brigade, creation, memory, and with a "
        "number each --tasks, --iters, --warmups, --max-time, --workers", [What]).

refuse(Code, Why, Values) ->
    io:format(standard_error, "erlang-brigade: " ++ Why ++ "~n", Values),
    halt(Code).

run("brigade", Flags = #{"tasks" := Tasks}) ->
    Driver = self(),
    First = lists:foldl(fun(_, Downstream) -> spawn_link(fun() -> relay(Downstream) end) end,
        Driver, lists:seq(1, Tasks)),
    Lap = fun() ->
        Begun = erlang:monotonic_time(nanosecond),
        First ! 0,
        Total = receive Token -> Token end,
        Taken = erlang:monotonic_time(nanosecond) - Begun,
        Tasks = Total, % or the token came round as something else
        Taken
    end,
    print("brigade", Flags, "iteration", "hop", Tasks + 1, measure(Flags, Lap));

%% A lap spawns this many processes, which end at once, and waits for a message from each.
run("creation", Flags = #{"tasks" := Tasks}) ->
    Lap = fun() ->
        Driver = self(),
        Begun = erlang:monotonic_time(nanosecond),
        [spawn(fun() -> Driver ! ended end) || _ <- lists:seq(1, Tasks)],
        [receive ended -> ok end || _ <- lists:seq(1, Tasks)],
        erlang:monotonic_time(nanosecond) - Begun
    end,
    print("creation", Flags, "create", "process creation and end", Tasks, measure(Flags, Lap));

%% A lap spawns another share of the processes, which wait; then memory is read.
run("memory", Flags = #{"tasks" := Tasks, "iters" := Iters}) ->
    Step = (Tasks - Tasks div 2) div Iters,
    Alive = counters:new(1, []),
    Start = fun(Count) ->
        [spawn_link(fun() -> receive never -> ok end end) || _ <- lists:seq(1, Count)],
        counters:add(Alive, 1, Count)
    end,
    Start(Tasks - Step * Iters),
    Lap = fun() ->
        Begun = erlang:monotonic_time(nanosecond),
        Start(Step),
        Taken = erlang:monotonic_time(nanosecond) - Begun,
        put(ledger, [held(counters:get(Alive, 1)) | case get(ledger) of undefined -> []; Points -> Points end]),
        Taken
    end,
    print("memory", Flags, "create", "process creation", Step, measure(Flags#{"warmups" := 0}, Lap)).

relay(Downstream) ->
    receive Token -> Downstream ! Token + 1 end,
    relay(Downstream).

%% The warm-up, and between the two marks the measured laps.
measure(Flags = #{"iters" := Iters, "warmups" := Asked}, Lap) ->
    {Fewest, Seconds} = if Asked < 0 -> {3, 0.02}; true -> {Asked, 0} end,
    Warmups = laps(Fewest, Seconds, Flags, Lap),
    mark("measuring"),
    Laps = laps(Iters, 0, Flags, Lap),
    mark("measured"),
    {length(Warmups), Laps}.

%% At least this many laps and seconds; only the first may begin after --max-time.
laps(Count, Seconds, #{"max-time" := Limit}, Lap) ->
    laps(Count, Seconds, Limit, Lap, erlang:monotonic_time(nanosecond), []).

laps(Count, Seconds, Limit, Lap, Begun, Taken) ->
    Passed = (erlang:monotonic_time(nanosecond) - Begun) / 1.0e9,
    if
        Count =< 0, Passed >= Seconds -> lists:reverse(Taken);
        Passed >= Limit, Taken =/= [] -> lists:reverse(Taken);
        true -> laps(Count - 1, Seconds, Limit, Lap, Begun, [Lap() | Taken])
    end.

%% Prints a word and waits for a line or end of file, while the runner reads our counters.
mark(Word) ->
    io:format("~s~n", [Word]),
    io:get_line("").

%% Memory of process, emulator and machine while this many processes wait, in bytes.
held(Tasks) ->
    erlang:garbage_collect(),
    Of = maps:from_list([{Name, list_to_integer(Kib) * 1024} ||
        File <- ["self/status", "self/smaps_rollup", "meminfo"],
        {ok, Text} <- [read("/proc/" ++ File)],
        Line <- string:split(Text, "\n", all),
        [Name, Kib, "kB"] <- [string:lexemes(Line, ": \t")]]),
    Figures = [{"runtime", erlang:memory(total)}, {"runtime_stack", erlang:memory(processes)} |
        [{Name, maps:get(Key, Of, null)} || {Name, Key} <- [
            {"resident", "Rss"}, {"proportional", "Pss"}, {"virtual", "VmSize"}, {"page_table", "VmPTE"},
            {"kernel_stack", "KernelStack"}, {"unreclaimable_slab", "SUnreclaim"}]]],
    io_lib:format("{\"tasks\":~b~s}", [Tasks,
        [io_lib:format(",\"~s_bytes\":~w", [Name, Bytes]) || {Name, Bytes} <- Figures]]).

%% Kernel files report a size of 0.
read(Path) ->
    case file:open(Path, [read, raw]) of
        {ok, File} ->
            Text = file:read(File, 1 bsl 16),
            file:close(File),
            Text;
        Unreadable -> Unreadable
    end.

print(Program, Flags = #{"tasks" := Tasks, "iters" := Iters}, Name, Operation, Operations, {Warmups, Laps}) ->
    Parameters = [io_lib:format(",\"~s\":~w", [string:replace(Key, "-", "_"), Value]) ||
        {Key, Value} <- maps:to_list(Flags)],
    Claimed = case {Program, maps:get("workers", Flags)} of {"brigade", 1} -> "0"; _ -> "null" end,
    Ended = if length(Laps) =:= Iters -> "iterations"; true -> "max-time" end,
    {Ledger, All} = case get(ledger) of
        undefined -> {"null", true};
        Points -> {["[", lists:join(",", lists:reverse(Points)), "]"], false}
    end,
    io:format("{\"schema_version\":\"1.2\",\"form\":\"laps\",\"program\":\"erlang-brigade\",\"kind\":\"coroutine\","
        "\"tasks\":~b,\"warmups\":~b,\"runtime\":\"OTP ~s\",\"ended_by\":\"~s\",\"expected_switches_per_operation\":~s,"
        "\"parameters\":{\"subcommand\":\"~s\"~s},\"ledger\":~s,\"measurements\":[{\"name\":\"~s\","
        "\"operation\":\"~s\",\"operations\":~b,\"covers_all_tasks\":~s,\"laps_ns\":~w}]}~n",
        [Tasks, Warmups, erlang:system_info(otp_release), Ended, Claimed, Program, Parameters, Ledger, Name,
            Operation, Operations, All, Laps]).

# Processes with heaps of their own, which send each other terms and large binaries.
exec erl -noshell -eval '
Work = fun(N) ->
    List = [{I, I * N rem 1009, integer_to_binary(I)} || I <- lists:seq(1, 20000)],
    Sorted = lists:keysort(2, List),
    Map = maps:from_list([{K, V} || {K, _, V} <- Sorted]),
    {erlang:phash2(Sorted), maps:size(Map), erlang:crc32(binary:copy(<<N:32>>, 200000))}
end,
Self = self(),
Pids = [spawn(fun() -> Self ! {self(), Work(N)} end) || N <- lists:seq(1, 12)],
Answers = [receive {Pid, Answer} -> Answer end || Pid <- Pids],
lists:foreach(fun(A) -> io:format("~p~n", [A]) end, Answers),
Table = ets:new(table, [ordered_set]),
[ets:insert(Table, {I * 7919 rem 100003, I}) || I <- lists:seq(1, 60000)],
io:format("~p ~p~n", [ets:first(Table), ets:info(Table, size)]),
garbage_collect(),
halt().'

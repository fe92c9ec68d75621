import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.zip.CRC32;

/** Fills its heap several times over in four threads, and checks what it keeps. */
public class Heap {
    static String work(int number) {
        Map<Integer, byte[]> kept = new HashMap<>();
        for (int i = 0; i < 200_000; i++) {
            byte[] bytes = new byte[50 + i % 300];
            java.util.Arrays.fill(bytes, (byte) (i * 31 + number));
            kept.put(i * 7919 % 20_011, bytes);
        }
        CRC32 sum = new CRC32();
        for (Map.Entry<Integer, byte[]> entry : new TreeMap<>(kept).entrySet()) {
            sum.update(entry.getKey());
            sum.update(entry.getValue());
        }
        System.gc();
        return number + " " + kept.size() + " " + Long.toHexString(sum.getValue());
    }

    public static void main(String[] arguments) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(4);
        List<Callable<String>> tasks = new ArrayList<>();
        for (int n = 0; n < 4; n++) {
            int number = n;
            tasks.add(() -> work(number));
        }
        for (Future<String> answer : threads.invokeAll(tasks)) {
            System.out.println(answer.get());
        }
        threads.shutdown();
    }
}

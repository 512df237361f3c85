// What a careful loop reaches: each method of docs/architecture.md alone, for float32 and int64,
// without strides, dtypes, modes or messages. benchmarks/plain_loops.py compiles and times it.
//
// Each function returns 0, or 1 where an index was out of range.
#include <atomic>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#if defined(__AVX512DQ__)
#include <immintrin.h>
#endif

namespace {

using std::int64_t;

constexpr int64_t block = 64;     // columns packed together
constexpr int64_t ahead = 160;    // indices between asking for an item and using it
constexpr int64_t queue = 16;     // rows between asking for one and adding to it
constexpr int64_t row_size = 64;  // floats in a row of add_rows

// work(part) for each of `parts`, claimed in turn by the threads. Returns whether any was bad.
template <class Work>
int in_parts(int threads, int64_t parts, const Work& work) {
  std::atomic<int64_t> next{0};
  std::atomic<int> failed{0};
  const auto claim = [&] {
    for (int64_t part = next++; part < parts; part = next++)
      if (work(part)) failed = 1;
  };
  std::vector<std::thread> others;
  for (int t = 1; t < threads; ++t) others.emplace_back(claim);
  claim();
  for (std::thread& other : others) other.join();
  return failed;
}

// `value` as a cell; 0, and `bad`, where it is none.
int64_t fold(int64_t value, int64_t length, bool& bad) {
  const int64_t cell = value < 0 ? value + length : value;
  const bool out = static_cast<std::uint64_t>(cell) >= static_cast<std::uint64_t>(length);
  bad |= out;
  return out ? 0 : cell;
}

// work(packed, first column, width) for blocks of columns of `data`, each packed before.
template <class Work>
int in_blocks(const float* data, int64_t rows, int64_t columns, int threads, const Work& work) {
  return in_parts(threads, (columns + block - 1) / block, [&](int64_t part) {
    const int64_t first = part * block, width = columns - first < block ? columns - first : block;
    static thread_local std::vector<float> packed;
    packed.resize(rows * block);
    for (int64_t r = 0; r < rows; ++r)
      std::memcpy(packed.data() + r * block, data + r * columns + first, 4 * width);
    return work(packed.data(), first, width);
  });
}

}  // namespace

extern "C" {

// out[i][j] = data[indices[i][j]][j], by packed blocks of columns.
int gather_columns(const float* data, const int64_t* indices, float* out, int64_t rows,
                   int64_t columns, int threads) {
  return in_blocks(data, rows, columns, threads, [&](float* packed, int64_t first, int64_t width) {
    bool bad = false;
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t* const given = indices + r * columns + first;
      float* const to = out + r * columns + first;
      for (int64_t j = 0; j < width; ++j) to[j] = packed[fold(given[j], rows, bad) * block + j];
    }
    return bad;
  });
}

// out = data; out[indices[i][j]][j] = or += updates[i][j], by packed blocks of columns.
int scatter_columns(const float* data, const int64_t* indices, const float* updates, float* out,
                    int64_t rows, int64_t columns, int add, int threads) {
  return in_blocks(data, rows, columns, threads, [&](float* packed, int64_t first, int64_t width) {
    bool bad = false;
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t* const given = indices + r * columns + first;
      const float* const from = updates + r * columns + first;
      for (int64_t j = 0; j < width; ++j) {
        float& cell = packed[fold(given[j], rows, bad) * block + j];
        cell = add ? cell + from[j] : from[j];
      }
    }
    for (int64_t r = 0; r < rows; ++r)
      std::memcpy(out + r * columns + first, packed + r * block, 4 * width);
    return bad;
  });
}

// out[i][j] = data[i][indices[i][j]].
int gather_last(const float* data, const int64_t* indices, float* out, int64_t rows,
                int64_t columns, int threads) {
  return in_parts(threads, rows, [&](int64_t r) {
    const float* const row = data + r * columns;
    const int64_t* const given = indices + r * columns;
    float* const to = out + r * columns;
    bool bad = false;
    int64_t j = 0;
#if defined(__AVX512DQ__)
    const __m512i length = _mm512_set1_epi64(columns);
    for (; j + 8 <= columns; j += 8) {
      const __m512i value = _mm512_loadu_si512(given + j);
      const __m512i cell = _mm512_mask_add_epi64(value, _mm512_movepi64_mask(value), value, length);
      const __mmask8 good = _mm512_cmplt_epu64_mask(cell, length);
      bad |= good != 0xff;
      _mm256_storeu_ps(to + j, _mm512_mask_i64gather_ps(_mm256_setzero_ps(), good, cell, row, 4));
    }
#endif
    for (; j < columns; ++j) to[j] = row[fold(given[j], columns, bad)];
    return bad;
  });
}

// out = data; out[i][indices[i][j]] = or += updates[i][j].
int scatter_last(const float* data, const int64_t* indices, const float* updates, float* out,
                 int64_t rows, int64_t columns, int add, int threads) {
  return in_parts(threads, rows, [&](int64_t r) {
    float* const row = out + r * columns;
    const int64_t* const given = indices + r * columns;
    const float* const from = updates + r * columns;
    std::memcpy(row, data + r * columns, 4 * columns);
    bool bad = false;
    for (int64_t j = 0; j < columns; ++j) {
      float& cell = row[fold(given[j], columns, bad)];
      cell = add ? cell + from[j] : from[j];
    }
    return bad;
  });
}

// out[i][j] = data[indices[i][j]][j] where there are few columns; one column: a flat gather.
int gather_items(const float* data, const int64_t* indices, float* out, int64_t length,
                 int64_t rows, int64_t columns, int threads) {
  const int64_t parts = threads;
  return in_parts(threads, parts, [&](int64_t part) {
    const int64_t begin = rows * part / parts, end = rows * (part + 1) / parts;
    bool bad = false;
    for (int64_t r = begin; r < end; ++r) {
      for (int64_t j = 0; j < columns; ++j) {
        const int64_t i = r * columns + j;
        if (i + ahead < end * columns) {
          bool later = false;
          const int64_t cell = fold(indices[i + ahead], length, later);
          __builtin_prefetch(data + cell * columns + (j + ahead) % columns);
        }
        out[i] = data[fold(indices[i], length, bad) * columns + j];
      }
    }
    return bad;
  });
}

// out[indices[i]] += updates[i], by rows of 64: each thread owns a range of cells, and walks over
// all indices.
int add_rows(const int64_t* indices, const float* updates, float* out, int64_t length,
             int64_t count, int threads) {
  return in_parts(threads, threads, [&](int64_t part) {
    const int64_t begin = length * part / threads, end = length * (part + 1) / threads;
    int64_t cells[queue], picks[queue], waiting = 0;
    bool bad = false;
    const auto add = [&](int64_t k) {
      float* const to = out + cells[k] * row_size;
      const float* const from = updates + picks[k] * row_size;
      for (int64_t j = 0; j < row_size; ++j) to[j] += from[j];
    };
    for (int64_t i = 0; i < count; ++i) {
      const int64_t cell = fold(indices[i], length, bad);
      if (cell < begin || cell >= end) continue;
      const int64_t k = waiting++ % queue;
      if (waiting > queue) add(k);
      cells[k] = cell;
      picks[k] = i;
      for (int64_t j = 0; j < row_size; j += 16) {
        __builtin_prefetch(out + cell * row_size + j, 1);
        __builtin_prefetch(updates + i * row_size + j);
      }
    }
    for (int64_t w = waiting < queue ? 0 : waiting - queue; w < waiting; ++w) add(w % queue);
    return bad;
  });
}
}

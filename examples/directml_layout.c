/* A DirectML scatter described in C, with declarations that sowreap wrote:
 *
 *     sowreap directml declare DML_OPERATOR_DESC --language c --all -o directml_family.h
 *
 * As a program it prints where the fields lie; from a shared library Python can take the descriptor,
 * check it and run it.
 */
#include "directml_family.h"

#include <stddef.h>
#include <stdio.h>

#ifdef _WIN32
#define EXPORT __declspec(dllexport)
#else
#define EXPORT
#endif

static DWORD table_sizes[] = {4, 3}, row_sizes[] = {3, 3};

static DML_BUFFER_TENSOR_DESC table = {
    DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_FLAG_NONE, 2, table_sizes, NULL, 48, 0};
static DML_BUFFER_TENSOR_DESC rows = {
    DML_TENSOR_DATA_TYPE_INT32, DML_TENSOR_FLAG_NONE, 2, row_sizes, NULL, 36, 0};
static DML_BUFFER_TENSOR_DESC values = {
    DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_FLAG_NONE, 2, row_sizes, NULL, 36, 0};

static DML_TENSOR_DESC table_tensor = {DML_TENSOR_TYPE_BUFFER, &table};
static DML_TENSOR_DESC rows_tensor = {DML_TENSOR_TYPE_BUFFER, &rows};
static DML_TENSOR_DESC values_tensor = {DML_TENSOR_TYPE_BUFFER, &values};

static DML_SCATTER_OPERATOR_DESC scatter = {
    &table_tensor, &rows_tensor, &values_tensor, &table_tensor, 0};
static DML_OPERATOR_DESC operator_desc = {DML_OPERATOR_SCATTER, &scatter};

EXPORT DML_OPERATOR_DESC *scatter_desc(void) { return &operator_desc; }

int main(void) {
    printf("size %u\n", (unsigned) sizeof(DML_SCATTER_OPERATOR_DESC));
    printf("InputTensor %u\n", (unsigned) offsetof(DML_SCATTER_OPERATOR_DESC, InputTensor));
    printf("IndicesTensor %u\n", (unsigned) offsetof(DML_SCATTER_OPERATOR_DESC, IndicesTensor));
    printf("UpdatesTensor %u\n", (unsigned) offsetof(DML_SCATTER_OPERATOR_DESC, UpdatesTensor));
    printf("OutputTensor %u\n", (unsigned) offsetof(DML_SCATTER_OPERATOR_DESC, OutputTensor));
    printf("Axis %u\n", (unsigned) offsetof(DML_SCATTER_OPERATOR_DESC, Axis));
    return scatter_desc()->Type == DML_OPERATOR_SCATTER ? 0 : 1;
}

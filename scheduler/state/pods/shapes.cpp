#include "scheduler/state/pods/shapes.hpp"

#include "scheduler/base/archive.hpp"
#include "scheduler/model/gpu/gpu_vendor.hpp"

namespace gpuctl {
namespace {

template <typename Id, typename Row>
Id make_row(std::vector<Row>& rows, std::vector<std::string>& keys, std::vector<Id>& vacant) {
    if (!vacant.empty()) {
        const Id id = vacant.back();
        vacant.pop_back();
        rows[id.value()] = Row{};
        return id;
    }
    const Id id{static_cast<std::uint32_t>(rows.size())};
    rows.emplace_back();
    keys.emplace_back();
    return id;
}

}  // namespace

ConstraintId ShapeTable::acquire_constraint(const PlacementRules& rules) {
    std::string key = to_archive(rules);
    if (const auto found = constraint_ids_.find(key); found != constraint_ids_.end()) {
        ++constraints_[found->second.value()].shapes;
        return found->second;
    }
    const ConstraintId id = make_row(constraints_, constraint_keys_, constraints_vacant_);
    constraints_[id.value()] = {rules, next_serial_++, 1};
    constraint_keys_[id.value()] = key;
    constraint_ids_.emplace(std::move(key), id);
    return id;
}

ShapeId ShapeTable::acquire(const Resources& request, const PlacementRules& rules,
                            Capacity& capacity) {
    std::string key;
    ArchiveWriter writer{key};
    writer.write(request);
    writer.write(rules);
    if (const auto found = shape_ids_.find(key); found != shape_ids_.end()) {
        ++shapes_[found->second.value()].pods;
        count_part(shapes_[found->second.value()], true);
        return found->second;
    }
    const ShapeId id = make_row(shapes_, shape_keys_, shapes_vacant_);
    Shape& shape = shapes_[id.value()];
    shape.needs = capacity.needs_of(request);
    shape.constraint = acquire_constraint(rules);
    shape.topology = rules.topology;
    for (const Need& need : shape.needs) {
        switch (capacity.kind(need.column)) {
            case ColumnKind::gpu:
                shape.gpus +=
                    in_whole_gpus({capacity.resource(need.column), GpuMilli{need.amount},
                                   share_offered(request, capacity.resource(need.column))});
                break;
            case ColumnKind::gpu_part:
                shape.part = GpuMilli{need.amount};
                shape.gpus += shape.part;
                break;
            case ColumnKind::cpu:
                shape.cpu = CpuMilli{need.amount};
                break;
            case ColumnKind::memory:
                shape.memory = Bytes{need.amount};
                break;
            case ColumnKind::pod_slots:
            case ColumnKind::extended:
            case ColumnKind::host_port:
                break;
        }
    }
    shape.index_column = capacity.index_column(shape.needs);
    shape.serial = next_serial_++;
    shape.pods = 1;
    count_part(shape, true);
    shape_keys_[id.value()] = key;
    shape_ids_.emplace(std::move(key), id);
    return id;
}

void ShapeTable::count_part(const Shape& shape, bool is_more) {
    if (shape.part == GpuMilli{}) return;
    const std::uint32_t step = is_more ? 1 : ~std::uint32_t{0};
    pods_by_part_.at(static_cast<std::size_t>(shape.part.value())) += step;
    pods_with_part_ += step;
    ++part_changes_;
}

void ShapeTable::release(ShapeId id, Capacity& capacity) {
    Shape& shape = shapes_[id.value()];
    count_part(shape, false);
    if (--shape.pods != 0) return;
    capacity.release_ports(shape.needs);
    shape_ids_.erase(shape_keys_[id.value()]);
    shapes_vacant_.push_back(id);
    Constraint& constraint = constraints_[shape.constraint.value()];
    if (--constraint.shapes != 0) return;
    constraint_ids_.erase(constraint_keys_[shape.constraint.value()]);
    constraints_vacant_.push_back(shape.constraint);
}

}  // namespace gpuctl

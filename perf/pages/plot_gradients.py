"""The picture of tutti gradients."""

from drawing import COLORS, time_text
from pictures import plt

from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter


def draw_bars(axis, settings, computing):
    """A bar per setting, the best one on top; a mark at the end of its ideal step."""
    colors = {"best": COLORS[2], "tie": COLORS[5], "slower": COLORS[1]}
    for place, row in enumerate(settings):
        step = row["overlapped_us"]
        axis.barh(place, min(computing, step), color="#bbbbbb", height=0.62)
        axis.barh(place, max(step - computing, 0), left=computing, height=0.62,
                  color=colors[row["standing"]])
        axis.plot([row["overlapped_q1_us"], row["overlapped_q3_us"]], [place, place],
                  color="#222222", linewidth=1.1)
        axis.plot([row["ideal_us"]] * 2, [place - 0.4, place + 0.4], color="#222222",
                  linewidth=1.6, linestyle=(0, (2, 1)))
        axis.plot(row["serial_us"], place, marker="|", color=COLORS[6], markersize=9,
                  markeredgewidth=1.8)
    axis.set_yticks(range(len(settings)), [f"{row['label']}   {time_text(row['overlapped_us'])}"
                                           for row in settings])
    axis.set_ylim(len(settings) - 0.5, -0.6)  # the first one on top
    axis.set_xlim(0, 1.03 * max(max(row["overlapped_q3_us"], row["serial_us"])
                                for row in settings))


def draw_gradients(records):
    """The figure of tutti gradients, or nothing if no step was measured."""
    context, summary = records[0], records[-1]
    settings = [record for record in records if record["record"] == "setting"]
    if not settings:
        return None
    height = 2.3 + 0.36 * len(settings)
    figure, axis = plt.subplots(figsize=(9.4, height), layout="constrained")
    figure.suptitle("tutti gradients: " + context["model"], x=0.01, ha="left", fontsize=14,
                    fontweight="bold")
    facts = [f"{context['ranks']} rank" + "s" * (context["ranks"] != 1),
             f"{context['bytes'] / 1e6:.1f} MB of gradients", f"{summary['steps']} steps"]
    facts += [context[name] for name in ("mpi", "processor") if context.get(name)]
    if context.get("oversubscribed"):
        facts.append("OVERSUBSCRIBED")
    axis.set_title("   ".join(facts), fontsize=9, color="#555555", loc="left")
    draw_bars(axis, settings, summary["computing_us"])
    axis.set_xlabel("time of a step (median, line: quartiles)")
    axis.xaxis.set_major_formatter(FuncFormatter(time_text))
    axis.grid(True, axis="x", color="#e3e3e3", linewidth=0.8)
    axis.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)
    below = -0.58 / (0.36 * len(settings) + 0.2)  # 0.58 inches, as a share of the axis
    axis.legend(handles=[
        Patch(color="#bbbbbb", label="computing"), Patch(color=COLORS[2], label="exposed, best"),
        Patch(color=COLORS[5], label="as good"), Patch(color=COLORS[1], label="slower"),
        Line2D([], [], color="#222222", linestyle=(0, (2, 1)), label="ideal step"),
        Line2D([], [], color=COLORS[6], linestyle="none", marker="|", markeredgewidth=1.8,
               label="not overlapped")], loc="upper right", bbox_to_anchor=(1, below), ncols=6,
        fontsize=8, frameon=False, borderaxespad=0, columnspacing=1.2)
    return figure

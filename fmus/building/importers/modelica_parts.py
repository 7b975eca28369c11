"""The classes of the Modelica package that are the same for all FMUs."""

from collections.abc import Mapping

from sensor_models import __version__

#: The vectors of the connector ``body``, by their names in FMI 3.0.
BODY = (
    "body.position",
    "body.orientation",
    "body.velocity",
    "body.angular_velocity",
    "body.acceleration",
    "body.angular_acceleration",
)

BODY_CONNECTOR = """\
  Interfaces.BodyInput body "State of the body that the sensor is mounted on"
    annotation(Placement(transformation(extent={{-120, -10}, {-100, 10}})));"""

PACKAGE_ICON = "  extends Modelica.Icons.Package;"

PACKAGE = f"""\
package SensorFmus "Simulated sensors: wrappers of their FMUs"
  extends Modelica.Icons.Package;
  annotation(
    version="{__version__}",
    uses(Modelica(version="4.0.0")),
    Documentation(info="<html>
<p>Each block wraps the import of an FMU. Import the FMU with your tool, as FMI 2.0 for
co-simulation and with underscores for the dots in names, and redeclare the block with it:</p>
<pre>SensorFmus.Imu imu(redeclare block Fmu = Imu_fmu, parameters=SensorFmus.Records.Imu());</pre>
<p>Where your tool names variables in another way, extend the block in <code>Imported</code> by
equations. Units are SI; the world's z axis points up; orientations are quaternions (w, x, y, z)
that take vectors of the body to the world, and all vectors of a body are those of the world.</p>
</html>"));
end SensorFmus;
"""

INTERFACES = """\
package Interfaces "Connectors"
  extends Modelica.Icons.InterfacesPackage;
  record BodyState "State of a body, all vectors in the world frame"
    Real position[3](each unit="m") "Position";
    Real orientation[4] "Quaternion w, x, y, z from the body to the world";
    Real velocity[3](each unit="m/s") "Velocity";
    Real angular_velocity[3](each unit="rad/s") "Angular velocity";
    Real acceleration[3](each unit="m/s2") "Acceleration, without gravity";
    Real angular_acceleration[3](each unit="rad/s2") "Angular acceleration";
  end BodyState;
  connector BodyInput = input BodyState "State of a body as input"
    annotation(Icon(graphics={Polygon(points={{-100, 100}, {100, 0}, {-100, -100}},
      lineColor={95, 95, 95}, fillColor={95, 95, 95}, fillPattern=FillPattern.Solid)}));
  connector BodyOutput = output BodyState "State of a body as output"
    annotation(Icon(graphics={Polygon(points={{-100, 100}, {100, 0}, {-100, -100}},
      lineColor={95, 95, 95}, fillColor={255, 255, 255}, fillPattern=FillPattern.Solid)}));
end Interfaces;
"""

ADAPTERS = """\
package Adapters "Between the FMUs and the standard library"
  extends Modelica.Icons.Package;
  model FrameToBody "State of a frame of MultiBody, for sensors on it"
    extends Modelica.Icons.RectangularSensor;
    import Modelica.Mechanics.MultiBody.Frames;
    Modelica.Mechanics.MultiBody.Interfaces.Frame_a frame_a "Frame of the body"
      annotation(Placement(transformation(extent={{-116, -16}, {-84, 16}})));
    Interfaces.BodyOutput body "State of the body"
      annotation(Placement(transformation(extent={{100, -10}, {120, 10}})));
  protected
    Frames.Quaternions.Orientation quaternion = Frames.to_Q(frame_a.R);
  equation
    body.position = frame_a.r_0;
    body.velocity = der(body.position);
    body.acceleration = der(body.velocity);
    body.orientation = {quaternion[4], quaternion[1], quaternion[2], quaternion[3]};
    body.angular_velocity = Frames.angularVelocity1(frame_a.R);
    body.angular_acceleration = der(body.angular_velocity);
    frame_a.f = zeros(3);
    frame_a.t = zeros(3);
  end FrameToBody;
end Adapters;
"""

EXAMPLES = """\
package Examples "Systems with sensors"
  extends Modelica.Icons.ExamplesPackage;
  partial model Pendulum "An Imu on a pendulum; extend it, and redeclare imu.Fmu by your import"
    extends Modelica.Icons.Example;
    inner Modelica.Mechanics.MultiBody.World world(n={0, 0, -1}, label2="z");
    Modelica.Mechanics.MultiBody.Joints.Revolute joint(n={0, 1, 0}, phi(start=1, fixed=true),
      w(start=0, fixed=true)) "Axis of the pendulum";
    Modelica.Mechanics.MultiBody.Parts.BodyBox rod(r={0.5, 0, 0}, width=0.05) "Its rod";
    Adapters.FrameToBody adapter "At the end of the rod";
    replaceable block ImuFmu = Imported.Imu constrainedby Imported.Imu "Your import of Imu.fmu";
    Imu imu(redeclare block Fmu = ImuFmu, parameters=Records.Imu(sample_rate=100))
      "Measures there";
  equation
    connect(world.frame_b, joint.frame_a);
    connect(joint.frame_b, rod.frame_a);
    connect(rod.frame_b, adapter.frame_a);
    connect(adapter.body, imu.body);
    annotation(experiment(StopTime=5, Interval=0.01));
  end Pendulum;
end Examples;
"""

#: What is drawn on the blocks, by the name of an icon.
GRAPHICS: Mapping[str, tuple[str, ...]] = {
    "Inertial": tuple(
        f"Line(points={{{{-60, -40}}, {{{end}}}}}, color={{0, 0, 127}},"
        " arrow={Arrow.None, Arrow.Filled})"
        for end in ("60, -40", "-60, 60", "10, 20")
    ),
    "Wheel": (
        "Ellipse(extent={{-60, -60}, {60, 60}}, lineColor={0, 0, 127})",
        "Ellipse(extent={{-10, -10}, {10, 10}}, lineColor={0, 0, 127})",
        "Line(points={{0, 0}, {42, 42}}, color={0, 0, 127})",
    ),
    "Lidar": tuple(
        f"Line(points={{{{-60, 0}}, {{70, {height}}}}}, color={{0, 127, 0}})"
        for height in (-60, -30, 0, 30, 60)
    ),
    "Camera": (
        "Rectangle(extent={{-70, -40}, {30, 40}}, lineColor={0, 0, 127})",
        "Polygon(points={{30, 20}, {70, 40}, {70, -40}, {30, -20}}, lineColor={0, 0, 127})",
    ),
    "Radar": tuple(
        f"Ellipse(extent={{{{{-60 - size}, {-size}}}, {{{size - 60}, {size}}}}},"
        " lineColor={127, 0, 0}, startAngle=-45, endAngle=45)"
        for size in (30, 50, 70)
    ),
    "Receiver": (
        "Ellipse(extent={{-20, 20}, {20, 60}}, lineColor={0, 0, 127})",
        "Line(points={{0, 20}, {-50, -60}}, color={0, 0, 127}, pattern=LinePattern.Dash)",
        "Line(points={{0, 20}, {50, -60}}, color={0, 0, 127}, pattern=LinePattern.Dash)",
    ),
    "Other": ("Rectangle(extent={{-60, -40}, {60, 40}}, lineColor={95, 95, 95})",),
}
_ICONS = {
    "Accelerometer": "Inertial",
    "Gyroscope": "Inertial",
    "Magnetometer": "Inertial",
    "Imu": "Inertial",
    "Encoder": "Wheel",
    "Odometer": "Wheel",
    "Lidar": "Lidar",
    "WaveformLidar": "Lidar",
    "DepthCamera": "Camera",
    "CcdCamera": "Camera",
    "Radar": "Radar",
    "Gnss": "Receiver",
}


def icon_of(name: str) -> str:
    """The icon of an FMU; those from outside of the project have a plain one."""
    return _ICONS.get(name, "Other")


def _icons() -> str:
    classes = []
    for name, graphics in GRAPHICS.items():
        drawn = ",\n      ".join(graphics)
        classes.append(
            f"  partial block {name}\n"
            "    extends Modelica.Blocks.Icons.Block;\n"
            f"    annotation(Icon(graphics={{\n      {drawn}}}));\n"
            f"  end {name};\n"
        )
    body = "".join(classes)
    return f'package Icons "What is drawn on the blocks"\n{PACKAGE_ICON}\n{body}end Icons;\n'


ICONS = _icons()
